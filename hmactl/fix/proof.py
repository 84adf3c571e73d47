"""Edits of options are offered only where they are seen to do what they are for, and no more."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hmactl.finding import Change, Edit, Finding

_OF_OPTIONS = frozenset({Change.ADD, Change.DROP})


def proven(
    source: str, text: str, findings: Sequence[Finding], read: Callable[[str], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """The same findings, without edits that add or drop an option where that is not certain.

    What an option does there depends on how the text around it is read, so the changed text is read
    once more by ``read``: the edit's findings must be gone, and none may be new.
    """
    edits = {f.edit for f in findings if f.edit is not None and f.edit.change in _OF_OPTIONS}
    good = {edit for edit in edits if _holds(source, text, edit, findings, read)}
    return tuple(
        finding if finding.edit not in edits - good else replace(finding, edit=None)
        for finding in findings
    )


def _holds(
    source: str,
    text: str,
    edit: Edit,
    findings: Sequence[Finding],
    read: Callable[[str], Iterable[Finding]],
) -> bool:
    from hmactl.fix.apply import apply_edits

    if edit.source != source or not (applied := apply_edits(text, [edit])).made:
        return False
    before, after = _counted(findings), _counted(read(applied.text))
    fixed = _counted(finding for finding in findings if finding.edit == edit)
    return not after - before and not (fixed & after) - (before - fixed)


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.id, finding.message) for finding in findings)
