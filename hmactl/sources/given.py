"""What the caller supplies beside the text that is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hmactl.deployment.files import TextFile
from hmactl.sources.process.word import Word

ReadFile = Callable[[str], TextFile | None]
"""A path as a source names it to the file, where its content can be read."""


def _no_file(_path: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Given:
    """``variables`` are those of ``--env-file`` and ``--set``, by name.

    ``read_file`` reads what the text itself names, such as a compose file's ``env_file``.
    """

    variables: Mapping[str, Word] = field(default_factory=dict)
    read_file: ReadFile = _no_file
