"""``hmactl schema``."""

import json

import click


@click.command(name="schema")
@click.argument("what", type=click.Choice(["profile", "report"]))
def command(what: str) -> None:
    """Print a JSON Schema: of a profile, or of the JSON report."""
    if what == "profile":
        from hmactl.sources.profile_model import profile_schema

        schema = profile_schema()
    else:
        from hmactl.report.model import report_schema

        schema = report_schema()
    click.echo(json.dumps(schema, indent=2))
