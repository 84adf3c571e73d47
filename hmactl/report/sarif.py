"""The findings of a lint as SARIF 2.1.0, the OASIS standard for results of static analysis."""

import json
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import PurePath
from urllib.parse import quote

from hmactl import __version__
from hmactl.finding import Severity
from hmactl.report.fingerprint import fingerprints
from hmactl.report.lint_finding import LintFinding, in_order
from hmactl.report.redact import redact
from hmactl.rules.pages import Explained, explained

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_FINGERPRINT = "hmactlFinding/v1"
_PAGES = "Rules"


def render_sarif(findings: Sequence[LintFinding], *, pages: str | None = None) -> str:
    """One JSON document with one run; it describes only the rules that were broken.

    ``pages`` is the address under which the rule pages are published, for their links.
    """
    ordered = in_order(findings)
    ids = sorted({one.finding.id for one in ordered})
    marks = fingerprints(ordered)
    results = [
        _result(one, ids.index(one.finding.id), mark)
        for one, mark in zip(ordered, marks, strict=True)
    ]
    driver = {
        "name": "hmactl",
        "semanticVersion": __version__,
        "rules": [_rule(identifier, pages) for identifier in ids],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2) + "\n"


def published_pages() -> str | None:
    """The address of the rule pages in this distribution's metadata; None if it has none."""
    try:
        addresses = metadata("hmactl").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = (address.partition(", ") for address in addresses)
    return next((address for label, _, address in named if label == _PAGES), None)


def _rule(identifier: str, pages: str | None) -> dict[str, object]:
    rule: Explained | None = explained(identifier)
    if rule is None:
        return {"id": identifier}
    described: dict[str, object] = {
        "id": identifier,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.what},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    if pages is not None:
        described["helpUri"] = f"{pages.rstrip('/')}/{identifier}.md"
    return described


def _result(one: LintFinding, index: int, fingerprint: str) -> dict[str, object]:
    finding = one.finding
    sentences = (finding.message, finding.consequence, finding.fix and f"fix: {finding.fix}")
    result: dict[str, object] = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(redact(sentence) for sentence in sentences if sentence)},
        "locations": [_location(one)],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }
    if (fix := _fix(one)) is not None:
        result["fixes"] = [fix]
    if one.suppressed is not None:
        suppression = {"kind": "inSource" if one.in_source else "external"}
        if one.suppressed:
            suppression["justification"] = redact(one.suppressed)
        result["suppressions"] = [suppression]
    return result


def _fix(one: LintFinding) -> dict[str, object] | None:
    """The change that `hmactl lint --fix` would make; None where it makes none by itself."""
    edit, change = one.finding.edit, one.change
    if edit is None or change is None or not edit.safe or one.file is None:
        return None
    deleted = {
        "startLine": change.line,
        "startColumn": change.column,
        "endLine": change.end_line,
        "endColumn": change.end_column,
    }
    replacement = {"deletedRegion": deleted, "insertedContent": {"text": change.new}}
    return {
        "description": {"text": redact(one.finding.fix)},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _address(one.file)},
                "replacements": [replacement],
            }
        ],
    }


def _location(one: LintFinding) -> dict[str, object]:
    origin = one.finding.origin
    logical = [] if one.deployment is None else [{"name": redact(one.deployment)}]
    if one.file is None:
        return {"logicalLocations": logical or [{"name": origin.source}]}
    physical: dict[str, object] = {"artifactLocation": {"uri": _address(one.file)}}
    if origin.line is not None:
        region: dict[str, object] = {
            "startLine": origin.line,
            "startColumn": origin.column or 1,
        }
        if one.source_line is not None:
            region["snippet"] = {"text": redact(one.source_line.rstrip("\r\n"))}
        physical["region"] = region
    location: dict[str, object] = {"physicalLocation": physical}
    if logical:
        location["logicalLocations"] = logical
    return location


def _address(path: str) -> str:
    plain = PurePath(redact(os.path.normpath(path))).as_posix()
    address = quote(plain.encode("utf-8", "surrogateescape"))
    return f"file://{address}" if plain.startswith("/") else address
