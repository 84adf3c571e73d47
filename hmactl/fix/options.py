"""An option more, or one less, where options stand: a command, a list of YAML or JSON, a mapping.

Each function answers with the offsets of what goes and the text that comes, and with None where the
surroundings are none that it knows: the file then stays as it is.
"""

import re

_ITEM = re.compile(r"(?P<head>\s*(?:- +)*)(?P<dash>- +)")
_Change = tuple[int, int, str]


def added(text: str, at: int, stop: int, new: str) -> _Change | None:
    """The option ``new`` in front of that which stands from ``at`` to ``stop``."""
    opening = _opening(text, at)
    quote, line = text[opening:at], text.rfind("\n", 0, opening) + 1
    before, newline = text[line:opening], _newline(text, line)
    alone = not before.strip()
    if not text.startswith("--", at):
        # A key of vLLM's configuration file.
        key = re.compile(rf"{quote}[ \t]*:(?=\s)").match(text, stop)
        added_key = f"{new.removeprefix('--')}: true{newline}{before}"
        return (opening, opening, added_key) if alone and key else None
    if (item := _ITEM.fullmatch(before)) is not None:
        indented = item["head"].replace("-", " ") + item["dash"]
        return opening, opening, f"{new}{newline}{indented}"
    left_end = _end_of_left(text, opening)
    left = text[left_end - 1 : left_end]
    if left in {"[", ","}:
        between = f"{newline}{before}" if alone else " "
        return opening, opening, f"{quote}{new}{quote},{between}"
    if alone and left == "\\":
        return opening, opening, f"{new} \\{newline}{before}"
    previous = text[opening - 1 : opening]
    if quote and (previous == "=" or re.search(r":[ \t]+$", before)):
        return at, at, f"{new} "
    return (opening, opening, f"{new} ") if previous in {"", " ", "\t", "\n", "("} else None


def dropped(text: str, at: int, stop: int) -> _Change | None:
    """Without the option that stands from ``at`` to ``stop``."""
    opening = _opening(text, at)
    quote = text[opening:at]
    end = stop + len(quote)
    if text[stop:end] != quote or not text.startswith("--", at):
        return None
    line = text.rfind("\n", 0, opening) + 1
    before, following = text[line:opening], re.compile(r"[^\r\n]*").match(text, end)
    behind = following.group() if following is not None else ""
    next_line = min(end + len(behind) + len(_newline(text, line)), len(text))
    left_end = _end_of_left(text, opening)
    left = text[left_end - 1 : left_end]
    if _ITEM.fullmatch(before):
        return (line, next_line, "") if not behind.strip() else None
    if left in {"[", ","}:
        if comma := re.compile(r"\s*,[ \t]*(?:\r?\n[ \t]*)?").match(text, end):
            return opening, comma.end(), ""
        first = left_end - 1 if left == "," else opening
        return (first, end, "") if re.compile(r"\s*\]").match(text, end) else None
    if not before.strip() and left == "\\":
        if behind.strip() == "\\":
            return line, next_line, ""
        first = _end_of_left(text, left_end - 1)
        return (first, end, "") if not behind.strip() else None
    if before.endswith((" ", "\t")) and before.strip() and re.match(r"[\s\"'\\;]|$", behind):
        return line + len(before.rstrip()), end, ""
    return None


def _opening(text: str, at: int) -> int:
    """The place of the quote in front of an option, or else its own."""
    return at - 1 if at and text[at - 1] in "\"'" else at


def _end_of_left(text: str, at: int) -> int:
    """Behind the last character in front of that place that is no blank."""
    while at and text[at - 1].isspace():
        at -= 1
    return at


def _newline(text: str, line: int) -> str:
    """How the file ends the line that begins there, or the one before it."""
    end = text.find("\n", line)
    if end < 0:
        end = line - 1
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
