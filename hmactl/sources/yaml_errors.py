"""A YAML parser's error in an operator's words."""

from dataclasses import dataclass

import yaml
from yaml.error import MarkedYAMLError
from yaml.reader import Reader

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity


@dataclass(frozen=True, slots=True)
class _Explanation:
    """``needle`` is looked for in the parser's context and problem, in libyaml's wording and in
    PyYAML's own; ``at_context`` points to where the construct began, not to where it failed."""

    needle: str
    message: str
    fix: str
    at_context: bool = False
    rule: str = "PRO002"


_EXPLANATIONS = (
    _Explanation(
        "maximum nesting depth",  # libyaml's own, which a long row of brackets meets first
        "the YAML is nested too deep",
        "flatten the value",
        rule="PRO008",
    ),
    _Explanation(
        "mapping values are not allowed",
        "a `:` stands where no key can be",
        "quote a value that contains `: `, and give keys of one mapping the same indentation",
    ),
    _Explanation(
        "quoted scalar, found unexpected end of stream",
        "the quote that opens here is never closed",
        "close the quote at the end of the value",
        at_context=True,
    ),
    _Explanation(
        "parsing a flow sequence",
        "the `[` that opens here is not closed, or a comma is missing in it",
        "close it with `]`, and separate its items with commas",
        at_context=True,
    ),
    _Explanation(
        "parsing a flow mapping",
        "the `{` that opens here is not closed, or a comma is missing in it",
        "close it with `}`, and separate its entries with commas",
        at_context=True,
    ),
    _Explanation(
        "parsing a flow node",
        "a value is missing here, or a `[` or `{` further up is not closed",
        "write the value, or close the bracket",
    ),
    _Explanation(
        "could not find expected ':'",
        "this line has no `: ` between a key and a value",
        "write `key: value`, with a space after the colon",
        at_context=True,
    ),
    _Explanation(
        "parsing a block",
        "the indentation of this line fits no line above it",
        "indent it exactly as its neighbours",
    ),
    _Explanation(
        "cannot start any token",
        "a plain value cannot begin with this character",
        "put the value in quotes",
    ),
)
_TAB = _Explanation("\t", "a tab is not allowed as indentation", "indent with spaces")
_CONSEQUENCE = "the file cannot be read from here on"


def explain_error(source: str, text: str, error: yaml.YAMLError) -> Finding:
    """The finding (PRO002) for a text that the YAML parser refuses, at the place to repair."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return _unreadable_character(source, text)
    line, column = error.problem_mark.line, error.problem_mark.column
    lines = text.split("\n")
    if line < len(lines) and lines[line][column : column + 1] == "\t":
        return _finding(source, line, column, _TAB)
    last = len(text.rstrip().split("\n")) - 1
    if line > last:  # the end of the file, which operators see behind its last word
        line, column = last, len(lines[last].rstrip())
    said = f"{error.context or ''}, {error.problem}"
    for explanation in _EXPLANATIONS:
        if explanation.needle in said:
            if explanation.at_context and error.context_mark is not None:
                line, column = error.context_mark.line, error.context_mark.column
            return _finding(source, line, column, explanation)
    other = _Explanation("", f"the YAML parser says: {error.problem}", "correct the YAML here")
    return _finding(source, line, column, other)


def _unreadable_character(source: str, text: str) -> Finding:
    found = Reader.NON_PRINTABLE.search(text)
    if found is None:
        other = _Explanation("", "the YAML parser cannot read this text", "save it as plain UTF-8")
        return _finding(source, 0, 0, other)
    before = text[: found.start()]
    line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
    message = f"the character U+{ord(found.group()):04X} is not allowed in YAML"
    return _finding(source, line, column, _Explanation("", message, "remove the character"))


def _finding(source: str, line: int, column: int, explanation: _Explanation) -> Finding:
    origin = Origin(source, line + 1, column + 1)
    return Finding(
        explanation.rule,
        Severity.ERROR,
        explanation.message,
        _CONSEQUENCE,
        explanation.fix,
        origin,
    )
