"""What only the reader of a compose file can see to be wrong."""

import re
from collections.abc import Iterator

from hmactl.deployment.setting import Origin
from hmactl.finding import Edit, Finding, Severity, edit_at
from hmactl.sources.compose.split import SplitCommand
from hmactl.sources.process.word import Word
from hmactl.sources.wording import shortened

_SHORTEST = 3
_PLAIN = re.compile(r"[\w./@+-]+")


def of_split(split: SplitCommand, key: str) -> Iterator[Finding]:
    """What became of a command that is one string."""
    for origin in split.continued[:1]:
        yield Finding(
            "K8S021",
            Severity.ERROR,
            f"a backslash at the end of a line of `{key}` does not join lines: Compose takes the "
            "line's end as a character of the command",
            "vLLM gets a blank as an argument of its own, or the command ends there",
            "remove the backslashes: a text behind `>` or `|` may go over several lines as it is",
            origin,
        )
    for origin in split.unquoted:
        yield lost_quotes(origin, "Compose", f"`{key}`")
    if split.ended is not None:
        yield Finding(
            "K8S027",
            Severity.ERROR,
            f"Compose ends `{key}` here: it splits words as a shell does, and starts no shell",
            "everything from here on is dropped, and Compose does not say so",
            f"quote the character, or write `{key}` as a list: `[bash, -c, '...']`",
            split.ended,
        )
    if split.refused is not None:
        yield Finding(
            "K8S027",
            Severity.ERROR,
            f"Compose cannot split `{key}` into words from here on",
            "it ends with: invalid command line string",
            f"close the quote, or write `{key}` as a list",
            split.refused,
        )


def lost_quotes(origin: Origin, who: str, where: str) -> Finding:
    """JSON that stands in no quotes of its own."""
    return Finding(
        "K8S025",
        Severity.ERROR,
        f"{who} removes the double quotes of the JSON in {where}",
        "vLLM gets text that is no JSON, and refuses it",
        "put single quotes around the JSON",
        origin,
    )


def invalid_dollar(origin: Origin) -> Finding:
    """A `$` that begins no variable."""
    return Finding(
        "K8S022",
        Severity.ERROR,
        "this `$` begins no variable of Compose",
        "Compose refuses the file: invalid interpolation format",
        "write `$$` where the container shall see a `$`",
        origin,
    )


def own_variable(name: str, origin: Origin) -> Finding:
    """A variable that the command means to have from the container."""
    return Finding(
        "K8S023",
        Severity.WARNING,
        f"`${name}` is replaced by Compose, which does not look into the service's `environment`",
        "it comes from where Compose runs or from `.env`, and is empty where neither has it",
        f"`$${name}` behind `sh -c` for the container's own variable; or set it in `.env`",
        origin,
    )


def kept_quotes(name: str, value: Word) -> Iterator[Finding]:
    """An entry of a list whose value is in quotes, which are no YAML there.

    LMCache takes quotes around its own variables away.
    """
    text = value.text
    if len(text) < _SHORTEST or text[0] != text[-1] or text[0] not in "'\"":
        return
    if value.known and not name.startswith("LMCACHE_"):
        yield Finding(
            "K8S024",
            Severity.WARNING,
            f"the quotes in `{shortened(f'{name}={text}')}` are part of the value",
            "in a list YAML only removes quotes that are around the whole entry",
            f'`"{name}={text[1:-1]}"`, or the form `{name}: {text}`',
            value.origin,
            _unquoted(value),
        )


def _unquoted(value: Word) -> Edit | None:
    """The value without its quotes, where YAML needs none."""
    bare = value.text[1:-1]
    place = None if value.places is None else value.places.certain(0)
    return edit_at(place, value.text, bare) if place and _PLAIN.fullmatch(bare) else None


def not_text(written: str, origin: Origin, key: str) -> Finding:
    """A number among the words of a command."""
    return Finding(
        "K8S026",
        Severity.ERROR,
        f"`{shortened(written)}` in the list of `{key}` is no text to YAML",
        f"Compose refuses the file: {key} must be a list of strings",
        f'quote it: `"{shortened(written)}"`',
        origin,
        edit_at(origin, written, f'"{written}"'),
    )
