"""What makes two findings the same one, although the lines around them moved."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePath

from hmactl.report.lint_finding import LintFinding
from hmactl.report.redact import redact

_NUMBER = re.compile(r"\d[\d,._]*")


def fingerprints(findings: Sequence[LintFinding], directory: str | None = None) -> list[str]:
    """32 hexadecimal digits for each finding, in the given order.

    They come from the rule, the path, the text of the line without its indentation, and the
    message without its figures, which follow from versions and other lines. Of findings that are
    equal in all of these the first has another than the second. Paths count from ``directory``,
    or else as they are written.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for one in findings:
        parts = _parts(one, directory)
        text = "\0".join((*parts, str(seen[parts])))
        seen[parts] += 1
        found.append(sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return found


def _parts(one: LintFinding, directory: str | None) -> tuple[str, ...]:
    path = one.finding.origin.source
    if one.file is not None:
        path = os.path.normpath(path) if directory is None else os.path.relpath(path, directory)
    line = redact((one.source_line or "").strip())
    message = _NUMBER.sub("#", redact(one.finding.message))
    return (one.finding.id, PurePath(path).as_posix(), line, message)
