"""The findings of a lint as JUnit's XML: a suite for each file, a test for each finding."""

import re
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET  # only written here, never read

from hmactl.finding import Severity
from hmactl.report.finding_text import finding_lines
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(findings: Sequence[LintFinding], sources: Sequence[str] = ()) -> str:
    """An XML document. Errors and warnings fail, infos pass with a note, suppressed are skipped.

    Each of ``sources``, the files that were read, passes if nothing was found in it.
    """
    ordered = in_order(findings)
    by_source = {
        source: list(group)
        for source, group in groupby(ordered, key=lambda one: one.finding.origin.source)
    }
    root = ET.Element("testsuites", {"name": "hmactl"})
    for source in sorted({*sources, *by_source}):
        _suite(root, source, by_source.get(source, []))
    for total in ("tests", "failures", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    root.set("errors", "0")
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(root: ET.Element, source: str, findings: Sequence[LintFinding]) -> None:
    name = _text(source)
    suite = ET.SubElement(root, "testsuite", {"name": name})
    for one in findings:
        origin = one.finding.origin
        place = "" if origin.line is None else f" line {origin.line}, column {origin.column or 1}"
        title = f"{one.finding.id}{place}"
        _outcome(ET.SubElement(suite, "testcase", {"classname": name, "name": title}), one)
    if not findings:
        ET.SubElement(suite, "testcase", {"classname": name, "name": "hmactl lint"})
    cases = len(suite)
    suite.set("tests", str(cases))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))


def _outcome(case: ET.Element, one: LintFinding) -> None:
    finding = one.finding
    text = _text("\n".join(finding_lines(finding, one.source_line)))
    if not one.counts:
        why = f"suppressed: {one.suppressed}" if one.suppressed else "suppressed"
        ET.SubElement(case, "skipped", {"message": _text(why)})
    elif finding.severity is Severity.INFO:
        ET.SubElement(case, "system-out").text = text
    else:
        attributes = {"type": str(finding.severity), "message": _text(finding.message)}
        ET.SubElement(case, "failure", attributes).text = text


def _text(text: str) -> str:
    """Without secrets and without what XML cannot hold."""
    hidden = "\n".join(redact(line) for line in text.split("\n"))
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", hidden)
