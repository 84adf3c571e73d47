"""The report as JSON."""

from hmactl.report.model import Report


def render_json(report: Report) -> str:
    """One JSON document, indented, as its published schema describes it."""
    return report.model_dump_json(indent=2, by_alias=True)
