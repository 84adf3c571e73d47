"""Options that several commands share."""

from collections.abc import Callable

import click

from hmactl.deployment.size import parse_size


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        return parse_size(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", ctx, parameter) from None


_FORMS = (
    *("profile", "shell", "kubernetes", "compose", "dockerfile", "systemd", "helm"),
    *("vllm", "lmcache"),
)


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """How to read what operators wrote, and what it leaves open."""
    for option in reversed(
        (
            click.option(
                "--as",
                "form",
                type=click.Choice(_FORMS),
                help="Read every source as this form, whatever its content looks like.",
            ),
            click.option(
                "--env-file",
                "env_files",
                multiple=True,
                type=click.Path(dir_okay=False),
                metavar="FILE",
                help="Variables that the sources use, as NAME=VALUE lines.",
            ),
            click.option(
                "--set",
                "assignments",
                multiple=True,
                metavar="NAME=VALUE",
                help="A variable that the sources use.",
            ),
        )
    ):
        command = option(command)
    return command


def engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """How to ask the engine."""
    for option in reversed(
        (
            click.option(
                "--gpu",
                metavar="NAME",
                help="Plan for this GPU (default: the profile's target, else this machine's, else "
                "H100-80GB); `cpu` for the plain CPU platform.",
            ),
            click.option(
                "--kv-cache-memory",
                callback=_bytes,
                metavar="SIZE",
                help="KV cache memory per GPU to plan for, such as 40GiB, instead of an estimate.",
            ),
            click.option(
                "--python",
                metavar="PATH",
                help="The Python interpreter that holds vLLM (default: hmactl's own).",
            ),
            click.option(
                "--offline", is_flag=True, help="Do not ask the Hugging Face hub for the model."
            ),
            click.option(
                "--timeout",
                type=click.FloatRange(min=1),
                default=600.0,
                show_default=True,
                metavar="SECONDS",
                help="Give up on the dry boot after this long.",
            ),
            click.option(
                "--memory-limit",
                callback=_bytes,
                default="16GiB",
                show_default=True,
                metavar="SIZE",
                help="Give up on a dry boot that uses more memory than this.",
            ),
            click.option(
                "--no-cache", is_flag=True, help="Neither use nor keep answers of the dry boot."
            ),
            click.option("-q", "--quiet", is_flag=True, help="No progress on standard error."),
            click.option(
                "-v", "--verbose", is_flag=True, help="Also the engine's warnings and each stage."
            ),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                help="Colours; NO_COLOR is respected.",
            ),
        )
    ):
        command = option(command)
    return command
