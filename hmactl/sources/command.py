"""A command as given behind ``--``: variables, then the program and its arguments."""

from collections.abc import Sequence
from pathlib import Path

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE
from hmactl.sources.document import Document
from hmactl.sources.process.deployment import documents
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word
from hmactl.sources.text_file import read_text


def read_command(argv: Sequence[str], directory: Path) -> Document | None:
    """The deployment that a command starts; None where it starts no vLLM server.

    ``NAME=value`` words in front of the program are variables. A file that ``--config`` names is
    read, relative to ``directory``; nothing else is opened and nothing is run.
    """

    def read_file(path: str) -> TextFile | None:
        text = read_text(directory / path)
        return None if text is None else TextFile(path, text, places_of_file(path, text))

    process = Process(
        source=str(COMMAND_LINE),
        form=Form.COMMAND,
        name="command",
        argv=tuple(Word(text, COMMAND_LINE) for text in argv),
    )
    found = documents([process], vllm_flags(), read_file)
    return found[0] if found else None
