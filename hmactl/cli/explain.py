"""``hmactl explain``."""

import click


@click.command(name="explain")
@click.argument("rule", required=False, metavar="[ID]")
def command(rule: str | None) -> None:
    """Say what a finding means and what to do about it; without an ID, list them all."""
    from hmactl.rules.explain import documented, explain

    if rule is None:
        for identifier, title in documented():
            click.echo(f"{identifier}  {title}")
        return
    text = explain(rule)
    if text is None:
        known = ", ".join(identifier for identifier, _ in documented())
        raise click.UsageError(f"no rule {rule}; there are {known}")
    click.echo(text)
