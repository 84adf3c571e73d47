"""``hmactl schema``."""

import json
from importlib import import_module

import click

# Imported when asked for: some of them need pydantic.
SCHEMAS = {
    "profile": "hmactl.sources.profile_schema:profile_schema",
    "configuration": "hmactl.configuration.schema:configuration_schema",
    "baseline": "hmactl.baseline:baseline_schema",
    "launch": "hmactl.launch.render.json_form:launch_schema",
    "lint": "hmactl.report.lint_json:lint_schema",
    "report": "hmactl.report.model:report_schema",
}


@click.command(name="schema")
@click.argument("what", type=click.Choice(list(SCHEMAS)))
def command(what: str) -> None:
    """Print a JSON Schema.

    Of what is written: a profile, the configuration .hmactl.yaml, a baseline. Of what is printed as
    JSON: by `lint`, the report of `check`, and by `render`.
    """
    click.echo(schema_text(what), nl=False)


def schema_text(what: str) -> str:
    """One of the schemas as text."""
    module, _, function = SCHEMAS[what].partition(":")
    schema = getattr(import_module(module), function)()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
