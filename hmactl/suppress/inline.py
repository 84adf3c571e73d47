"""Which findings the comments of a file suppress, and which comments suppress none."""

from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from hmactl.deployment.form import Form
from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.suppress.comments import Comment, Named, NotUnderstood, read_comments

_UNUSED = "SUP001"
_NOT_UNDERSTOOD = "SUP002"


class Judged(NamedTuple):
    """A finding, and the reason of the comment that suppresses it: "" for none given."""

    finding: Finding
    suppressed: str | None


def suppress(
    source: str,
    text: str,
    findings: Sequence[Finding],
    known: Collection[str],
    *,
    form: Form | None = None,
    judged: Callable[[str], bool] = lambda _rule: True,
) -> list[Judged]:
    """The findings with what the comments of their file say, then those about the comments.

    ``findings`` are those before any selection, at lines of that text. ``known`` are the ids of all
    rules. ``judged`` says whether a rule could have found something: only then a comment can be
    called unused (SUP001).
    """
    read = list(read_comments(text, form))
    if not read:
        return [Judged(finding, None) for finding in findings]
    comments = [one for one in read if isinstance(one, Comment)]
    used: set[Named] = set()
    result = [_judge(finding, source, comments, used) for finding in findings]
    complaints = [complaint for one in read for complaint in _complaints(source, one, known)]
    result += [_judge(finding, source, comments, used) for finding in complaints]
    named = [(comment, rule) for comment in comments for rule in comment.rules if rule.id in known]
    for comment, rule in named:
        if rule.id != _UNUSED and rule not in used and judged(rule.id):
            result.append(_judge(_unused(source, comment, rule), source, comments, used))
    # Now it shows which comments about unused comments are unused themselves.
    for comment, rule in named:
        if rule.id == _UNUSED and rule not in used:
            result.append(Judged(_unused(source, comment, rule), None))
    return result


def _judge(finding: Finding, source: str, comments: Sequence[Comment], used: set[Named]) -> Judged:
    reason = None
    for comment in comments:
        if finding.origin.source != source or not comment.covers(finding.origin.line):
            continue
        for rule in comment.rules:
            if rule.id == finding.id:
                used.add(rule)
                reason = reason or comment.reason
    return Judged(finding, reason)


def _complaints(
    source: str, one: Comment | NotUnderstood, known: Collection[str]
) -> Iterator[Finding]:
    if isinstance(one, NotUnderstood):
        yield Finding(
            _NOT_UNDERSTOOD,
            Severity.WARNING,
            f"this is no suppression: {one.why}",
            "it suppresses nothing",
            "write `# hmactl: ignore[LMC012] reason`, with the rules that it is about, at the end "
            "of the line or alone above it",
            Origin(source, one.line, one.column),
        )
        return
    for rule in one.rules:
        if rule.id in known:
            continue
        near = get_close_matches(rule.id, known, 1)
        yield Finding(
            _NOT_UNDERSTOOD,
            Severity.WARNING,
            f"there is no rule `{rule.id}`",
            "it suppresses nothing",
            f"a similar id exists: `{near[0]}`" if near else "`hmactl rules` lists all ids",
            Origin(source, one.line, rule.column),
        )


def _unused(source: str, comment: Comment, rule: Named) -> Finding:
    where = "in this file" if comment.last is None else f"at {_lines(comment)}"
    return Finding(
        _UNUSED,
        Severity.INFO,
        f"`{rule.id}` is suppressed, and there is no such finding {where}",
        "it would hide the next finding of that rule there",
        "remove it, or write it at the line that the finding names",
        Origin(source, comment.line, rule.column),
    )


def _lines(comment: Comment) -> str:
    if comment.first == comment.last:
        return f"line {comment.first}"
    return f"lines {comment.first} to {comment.last}"
