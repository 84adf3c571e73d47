"""What of a model only some releases of vLLM take together with a connector."""

from dataclasses import dataclass
from functools import cache

from packaging.version import InvalidVersion, Version

from hmactl.catalogue.data_file import load


@dataclass(frozen=True, slots=True)
class Limit:
    """``first`` is the first release without it, None where no release that was read is.

    It concerns models with the KV cache spec ``spec``, or encoder-decoder models.
    """

    what: str
    first: str | None
    source: str
    spec: str | None = None
    encoder_decoder: bool = False

    def is_past(self, vllm: str) -> bool:
        """Whether that release takes it; False where it is no version."""
        try:
            return self.first is not None and Version(vllm) >= Version(self.first)
        except InvalidVersion:
            return False


@cache
def limits() -> tuple[Limit, ...]:
    """All of them."""
    data = load("limits.json")
    return tuple(Limit(**facts) for facts in data["limits"])
