"""A file of a Helm chart that Helm has not filled in yet."""

import re

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.document import Document

_OBJECT = re.compile(r"(?m)^\s*(apiVersion|kind):")
_ACTION = re.compile(r'\{\{-?[^{}]*(?:\.(?:Values|Release|Chart|Capabilities)\b|\binclude\s+")')


def chart_template(source: str, text: str) -> Document | None:
    """A document that says so (K8S001) where a text is a template of manifests, else None."""
    if _OBJECT.search(text) is None:
        return None
    for number, line in enumerate(text.split("\n"), start=1):
        match = None if line.lstrip().startswith("#") else _ACTION.search(line)
        if match is not None:
            return _finding(Origin(source, number, match.start() + 1))
    return None


def _finding(origin: Origin) -> Document:
    finding = Finding(
        "K8S001",
        Severity.ERROR,
        f"`{origin.source}` is a template of a Helm chart, not what Helm makes of it",
        "its values stand elsewhere, so there is nothing to check",
        "render it first: `helm template CHART -f VALUES | hmactl check -`",
        origin,
    )
    return Document(origin.source, 0, None, (finding,))
