"""Edits of options are offered only where they are seen to do what they are for, and no more."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hmactl.finding import Change, Edit, Finding

_OF_OPTIONS = frozenset({Change.ADD, Change.DROP})
# Each costs a reading of the file.
_MOST_TRIALS = 8


def proven(
    source: str, text: str, findings: Sequence[Finding], read: Callable[[str], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """The same findings, without edits that add or drop an option where that is not certain.

    What an option does there depends on how the text around it is read, so the changed text is read
    once more by ``read``: the edit's findings must be gone, and none may be new. Those that have a
    place are tried together, and then each for itself if there are not too many.
    """
    edits = {f.edit: None for f in findings if f.edit is not None and f.edit.change in _OF_OPTIONS}
    trial = _Trial(text, findings, read)
    placed = [edit for edit in edits if edit.source == source and _has_place(text, edit)]
    good = set(placed)
    if placed and not trial.holds(placed):
        tried = placed if len(placed) <= _MOST_TRIALS else []
        good = {edit for edit in tried if trial.holds([edit])}
    return tuple(
        finding if finding.edit not in edits.keys() - good else replace(finding, edit=None)
        for finding in findings
    )


def _has_place(text: str, edit: Edit) -> bool:
    from hmactl.fix.place import region

    return region(text, edit) is not None


@dataclass(frozen=True, slots=True)
class _Trial:
    text: str
    findings: Sequence[Finding]
    read: Callable[[str], Iterable[Finding]]

    def holds(self, edits: Sequence[Edit]) -> bool:
        from hmactl.fix.apply import apply_edits

        applied = apply_edits(self.text, edits)
        if len(applied.made) < len(edits):
            return False
        before, after = _counted(self.findings), _counted(self.read(applied.text))
        tried = frozenset(edits)
        fixed = _counted(finding for finding in self.findings if finding.edit in tried)
        return not after - before and not (fixed & after) - (before - fixed)


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.id, finding.message) for finding in findings)
