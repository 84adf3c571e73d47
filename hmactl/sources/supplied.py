"""What an operator supplies beside a source: variables, and the files that lie beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from hmactl.deployment.files import TextFile
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE
from hmactl.sources.given import Given
from hmactl.sources.process.word import Word
from hmactl.sources.text_file import read_text


class SuppliedError(Exception):
    """A variable or a file of variables cannot be used; the text says why, for an operator."""


def supplied(env_files: Iterable[Path], assignments: Sequence[str]) -> Given:
    """The variables of ``--env-file`` and ``--set NAME=VALUE``; a later one wins.

    Raises SuppliedError.
    """
    variables: dict[str, Word] = {}
    for path in env_files:
        from hmactl.sources.container.env_files import dotenv

        text = read_text(path)
        if text is None:
            raise SuppliedError(f"{path} cannot be read as a file of NAME=VALUE lines")
        file = TextFile(str(path), text, places_of_file(str(path), text))
        found = dotenv(file, lambda _name, _origin: None, lambda word: word)
        variables |= {variable.name: variable.value for variable in found}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise SuppliedError(f"`{assignment}` is no NAME=VALUE")
        variables[name] = Word(value, COMMAND_LINE)
    return Given(variables)


def beside(given: Given, directory: Path, working: Path) -> Given:
    """The same for a source in ``directory``: files that it names are looked for there.

    Then in the ``working`` directory. Only files inside of these two are opened.
    """

    def read_file(name: str) -> TextFile | None:
        for base in (directory, working):
            path = base / name
            try:
                inside = path.resolve().is_relative_to(base.resolve())
            except (OSError, ValueError, RuntimeError):
                continue
            if inside and (text := read_text(path)) is not None:
                return TextFile(name, text, places_of_file(str(path), text))
        return None

    return replace(given, read_file=read_file)
