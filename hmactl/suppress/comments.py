"""The comments that suppress findings, and the lines that each is about."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hmactl.deployment.form import Form
from hmactl.suppress.extent import begins_command, last_line

_MARK = re.compile(r"(?:^|(?<=\s))(?P<hash>#+)\s*hmactl:\s*(?P<rest>\S.*)$")
_UNIT_MARK = re.compile(r"^\s*(?P<hash>[#;])\s*hmactl:\s*(?P<rest>\S.*)$")
_DIRECTIVE = re.compile(r"(?P<word>ignore(?:-file)?)\s*\[(?P<ids>[^\]]*)\]\s*(?P<reason>.*)$")
_MEANT_AS_ONE = re.compile(r"ignore\b|[\w-]+\s*\[")
_ID = re.compile(r"[^\s,]+")
# Against files that were made to take long; a comment has one to three rules.
_MOST_COMMENTS = 1000
_MOST_RULES = 20
# Behind these a hash begins a comment for the shell that runs them; behind all others it is text.
_RUN_BY_A_SHELL = ("RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK")


@dataclass(frozen=True, slots=True)
class Named:
    """A rule in a comment, in capitals, and its 1-based place."""

    id: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that suppresses findings of some rules from one line to another, both included.

    ``last`` None is the whole file.
    """

    line: int
    column: int
    rules: tuple[Named, ...]
    reason: str
    first: int
    last: int | None

    def covers(self, line: int | None) -> bool:
        """Whether a finding at that line is meant; None is one about the file as a whole."""
        if self.last is None:
            return True
        return line is not None and self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A comment that was meant as one of these and is none, and why."""

    line: int
    column: int
    why: str


def read_comments(text: str, form: Form | None) -> Iterator[Comment | NotUnderstood]:
    """The first 1,000 comments in a text, in its order. Never raises, whatever the text."""
    return islice(_all_comments(text, form), _MOST_COMMENTS)


def _all_comments(text: str, form: Form | None) -> Iterator[Comment | NotUnderstood]:
    if "hmactl:" not in text:
        return
    lines = text.splitlines()
    mark = _UNIT_MARK if form is Form.SYSTEMD else _MARK
    for index, line in enumerate(lines):
        match = mark.search(line)
        if match is None:
            if form is Form.SYSTEMD and (stray := _MARK.search(line)) is not None:
                yield from _no_comment(stray, index)
            continue
        alone = not line[: match.start("hash")].strip(" \t#;")
        if form is Form.DOCKERFILE and not alone and not _is_for_a_shell(lines, index):
            yield from _no_comment(match, index)
        else:
            yield from _read(lines, index, match, alone=alone)


def _read(
    lines: Sequence[str], index: int, match: re.Match[str], *, alone: bool
) -> Iterator[Comment | NotUnderstood]:
    line, column = index + 1, match.start("hash") + 1
    directive = _DIRECTIVE.match(match["rest"])
    if directive is None:
        if _MEANT_AS_ONE.match(match["rest"]):
            yield NotUnderstood(line, column, "it names no rule")
        return
    start = match.start("rest") + directive.start("ids")
    rules = tuple(
        Named(found[0].upper(), line, start + found.start() + 1)
        for found in islice(_ID.finditer(directive["ids"]), _MOST_RULES)
    )
    if not rules:
        yield NotUnderstood(line, column, "it names no rule")
        return
    first, last = line, None
    if directive["word"] == "ignore":
        target = _next_line(lines, index) if alone else index
        first, last = target + 1, last_line(lines, target) + 1
    yield Comment(line, column, rules, directive["reason"].strip(), first, last)


def _next_line(lines: Sequence[str], index: int) -> int:
    """The index of the line that a comment alone on its line is about: below further comments."""
    index += 1
    while index < len(lines) and lines[index].lstrip().startswith(("#", ";")):
        index += 1
    return index


def _no_comment(match: re.Match[str], index: int) -> Iterator[NotUnderstood]:
    if _MEANT_AS_ONE.match(match["rest"]):
        why = "behind a value it is no comment but part of the value"
        yield NotUnderstood(index + 1, match.start("hash") + 1, why)


def _is_for_a_shell(lines: Sequence[str], index: int) -> bool:
    words = lines[begins_command(lines, index)].split(maxsplit=1)
    return bool(words) and words[0].upper() in _RUN_BY_A_SHELL
