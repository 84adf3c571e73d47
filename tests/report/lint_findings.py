"""Findings for the tests of the renderers."""

from dataclasses import replace

from hmactl.deployment.setting import COMMAND_LINE, Origin
from hmactl.finding import Edit, Finding, Severity
from hmactl.fix.region import Region
from hmactl.report.lint_finding import LintFinding

LINE = "  max_local_cpu_sise: 20.0"


def finding(
    identifier: str = "LMC001",
    severity: Severity = Severity.ERROR,
    message: str = "LMCache 0.5.6 has no setting `max_local_cpu_sise`",
    origin: Origin | None = None,
) -> Finding:
    place = origin or Origin("deploy/a.yaml", 4, 3)
    return Finding(identifier, severity, message, "it has no effect", "correct it", place)


UNKNOWN_KEY = LintFinding(finding(), LINE, deployment="a")
WARNING = LintFinding(
    finding("HMA001", Severity.WARNING, "HMA is off: 50% of the capacity is lost"),
    LINE,
)
INFO = LintFinding(finding("VER002", Severity.INFO, "nobody tried", Origin("b c/é,1:2.sh", 1)))
SUPPRESSED = LintFinding(finding("LMC009"), LINE, suppressed="one worker only")
IN_BASELINE = LintFinding(finding("LMC010"), LINE, suppressed="", in_source=False)
NO_FILE = LintFinding(finding("CLI001", origin=COMMAND_LINE))
SECRET = LintFinding(
    finding("CLI002", message="`--api-key=hunter2` \x1b[31m is refused"),
    'command: ["--api-key=hunter2"]',
)
_EDIT = Edit("deploy/a.yaml", 4, 3, "max_local_cpu_sise", "max_local_cpu_size")
_REGION = Region(4, 3, 4, 21, "max_local_cpu_size")
FIXABLE = LintFinding(replace(finding(), edit=_EDIT), LINE, change=_REGION)
UNSAFE = replace(FIXABLE, finding=replace(finding("LMC004"), edit=replace(_EDIT, safe=False)))
ALL = (INFO, SUPPRESSED, UNKNOWN_KEY, WARNING, IN_BASELINE, NO_FILE, SECRET)
