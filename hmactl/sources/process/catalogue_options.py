"""The options of the programs that a command can start, from the catalogue."""

from dataclasses import dataclass

from hmactl.catalogue.flags import VllmFlags, vllm_flags
from hmactl.sources.process.options import Option, Takes

_TAKES = {"nothing": Takes.NOTHING, "one": Takes.ONE, "several": Takes.SEVERAL}


@dataclass(frozen=True, slots=True)
class CatalogueOptions:
    """vLLM's options as what ``read_arguments`` asks for."""

    flags: VllmFlags

    def find(self, written: str) -> Option | None:
        flag = self.flags.find(written)
        if flag is None:
            return None
        takes = None if flag.takes is None else _TAKES[flag.takes]
        return Option(flag.name, takes, flag.negative, flag.shortened)


def vllm_options(version: str | None) -> CatalogueOptions:
    """The options of ``vllm serve`` in that version; of any version where it is None."""
    return CatalogueOptions(vllm_flags(version))
