"""Files of variables, as the programs that read them do."""

from collections.abc import Callable, Iterator

from hmactl.deployment.files import TextFile
from hmactl.deployment.setting import Origin
from hmactl.sources.process.word import Variable, Word


def docker_env_file(
    file: TextFile, inherited: Callable[[str, Origin], Variable | None]
) -> Iterator[Variable]:
    """The variables of ``docker run --env-file``, which keeps quotes and all else as it stands.

    A name without a value is taken from where the command runs, which ``inherited`` knows.
    """
    for number, line in enumerate(file.text.split("\n"), start=1):
        kept = line.removesuffix("\r").lstrip()
        if not kept or kept.startswith("#"):
            continue
        column = len(line) - len(line.lstrip()) + 1
        name, equals, value = kept.partition("=")
        origin = file.place(number, column)
        if not equals:
            if (variable := inherited(name.strip(), origin)) is not None:
                yield variable
            continue
        place = file.place(number, column + len(name) + 1)
        yield Variable(name, Word(value, place), origin)
