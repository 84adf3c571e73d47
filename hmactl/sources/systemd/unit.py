"""A unit's text as its settings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.deployment.places import Places, Stretch
from hmactl.sources.shell.value import Piece, part

_SECTION = re.compile(r"\[([^\[\]]+)\]\s*")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9]*)[ \t]*=[ \t]*")


@dataclass(frozen=True, slots=True)
class UnitSetting:
    """``Key=value`` of a section; the value with its lines joined."""

    section: str
    key: str
    value: Piece


def read_unit(source: str, text: str) -> tuple[UnitSetting, ...]:
    """The settings in their order; never raises, whatever the text."""
    return tuple(_settings(source, text))


def begins_with_section(text: str) -> bool:
    """Whether the first line that is no comment is the heading of a section."""
    first = next((line.text for line in _lines("", text) if line.text), "")
    return _SECTION.fullmatch(first) is not None


def _settings(source: str, text: str) -> Iterator[UnitSetting]:
    section = ""
    for line in _lines(source, text):
        if (heading := _SECTION.fullmatch(line.text)) is not None:
            section = heading[1]
        elif (setting := _SETTING.match(line.text)) is not None:
            value = part(line, setting.end(), len(line.text))
            yield UnitSetting(section, setting[1], value)


def _lines(source: str, text: str) -> Iterator[Piece]:
    """The lines, without blanks at both ends; one that ends with a backslash goes on, and a blank
    takes the backslash's place. Comments are left out, also between lines that go on."""
    joined, stretches = "", list[Stretch]()
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        kept = line.lstrip()
        if kept.startswith(("#", ";")):
            continue
        stretches.append(Stretch(len(joined), number, len(line) - len(kept) + 1))
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += kept[:-1] + " "
            continue
        joined += kept
        yield Piece(joined.rstrip(), Places(source, tuple(stretches)))
        joined, stretches = "", []
    if stretches:
        yield Piece(joined.rstrip(), Places(source, tuple(stretches)))
