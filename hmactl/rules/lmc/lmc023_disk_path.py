"""LMCache's disk directory is another one than it looks like.

What: `local_disk` is a directory, or several with commas between them, each with or without
`file://` in front. Anything else is taken as the name of a directory below the one where the server
was started: `file:/data`, `~/cache`, `True`, `s3://bucket`.

Why: LMCache makes that directory and fills it: the container's own file system, as a rule.

Failing example: `lmcache: {local_disk: "file:/data"}`.

Passing example: `lmcache: {local_disk: "file:///data"}` or `/data`.

Source: `_parse_local_disk` in LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/1788.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of
from hmactl.rules.lmc.lmc021_word_for_nothing import says_nothing

ID = "LMC023"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where a directory is a relative one."""
    if (settings := in_process_settings(case)) is None:
        return
    value = settings.values.get("local_disk")
    if not isinstance(value, str) or says_nothing(value):
        return
    relative = [part for part in value.split(",") if not part.startswith("/")]
    # `.` in front says that it is meant.
    odd = [part for part in relative if not part.startswith(".")]
    if not odd or value[0] in "'\"":
        return
    meant = odd[0].split(":", 1)[-1].lstrip("/~")
    yield Finding(
        ID,
        SEVERITY,
        f"the disk of {as_written(case, 'local_disk')} is a directory named `{odd[0]}` where the "
        "server is started",
        "LMCache makes and fills it there",
        f"an absolute path: `local_disk: /{meant}`",
        origin_of(case, "local_disk"),
    )
