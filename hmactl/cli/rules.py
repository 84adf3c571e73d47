"""``hmactl rules``."""

import json

import click


@click.command(name="rules")
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
def command(output: str) -> None:
    """List every rule with its severity; `hmactl explain ID` says more about one."""
    from hmactl.rules.pages import all_explained

    rules = all_explained()
    if output == "json":
        rows = [
            {"id": rule.id, "severity": rule.severity, "title": rule.title, "text": rule.text}
            for rule in rules
        ]
        click.echo(json.dumps({"schema": "hmactl-rules/1", "rules": rows}, indent=2))
        return
    for rule in rules:
        click.echo(f"{rule.id}  {rule.severity:<7}  {rule.title}")
