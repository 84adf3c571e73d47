"""``hmactl completion``."""

import click

_VARIABLE = "_HMACTL_COMPLETE"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script by which a shell completes hmactl's commands and options."""
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"click completes nothing in {shell}")
    click.echo(completion(ctx.find_root().command, {}, "hmactl", _VARIABLE).source())
