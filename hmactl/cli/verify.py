"""``hmactl verify``."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hmactl.cli.options import engine_options, source_options

if TYPE_CHECKING:
    from hmactl.report.model import DeploymentReport


@click.command(name="verify")
@click.argument("target", metavar="URL|SOURCE")
@source_options
@engine_options
@click.option("--url", metavar="URL", help="Where the server of SOURCE answers, if elsewhere.")
@click.option(
    "--plan",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="REPORT",
    help="With a URL: the plan from `hmactl check --format json`, made before.",
)
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="The server's log (both, where standard output and error are apart).",
)
@click.option(
    "--once", is_flag=True, help="Do not wait for a server that is not ready, as a readiness gate."
)
@click.option(
    "--api-key",
    envvar=["HMACTL_API_KEY", "VLLM_API_KEY"],
    metavar="KEY",
    help="Of the server; better in VLLM_API_KEY than on a command line.",
)
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
def command(
    target: str,
    plan: Path | None,
    output: str,
    color: str,
    **options: Any,
) -> None:
    """Hold a running server against its plan; it is only read from.

    With SOURCE the plan is made as `hmactl check` does. With a URL and no --plan it shows what the
    server says. Waits up to --timeout for a server that is not ready, the dry boot included.

    \b
    Exit status: 0 as planned, 1 something differs, 2 the server cannot be asked.
    """
    from hmactl.cli.terminal import styler
    from hmactl.launch.verify.log import read_logs
    from hmactl.launch.verify.server import Server, server_url
    from hmactl.launch.verify.text import render_verification
    from hmactl.launch.verify.verify import verify

    url, logs, once, api_key = (options.pop(name) for name in ("url", "logs", "once", "api_key"))
    deadline = time.monotonic() + options["timeout"]
    is_url = target.startswith(("http://", "https://"))
    if is_url and url is not None:
        raise click.UsageError("--url is for a SOURCE; the address is given already")
    if plan is not None and not is_url:
        raise click.UsageError("--plan is for a URL; the plan of a SOURCE is made anew")
    if is_url:
        planned = None if plan is None else _reported(plan)
        address: str | None = target
    else:
        planned, own = _checked(target, options)
        address = url or own
    if address is None:
        raise click.UsageError("the deployment has no TCP port of its own: give --url")
    try:
        server = Server(server_url(address), api_key)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="URL") from None
    try:
        log = read_logs(logs)
    except OSError as error:
        raise click.BadParameter(f"cannot be read: {error.strerror}", param_hint="--log") from None
    wait = 0.0 if once else max(0.0, deadline - time.monotonic())
    verification = verify(server, planned, log, wait=wait)
    if output == "json":
        click.echo(verification.model_dump_json(indent=2, by_alias=True))
    else:
        click.echo(render_verification(verification, styler(color)))
    sys.exit(verification.status)


def _checked(source: str, asking: dict[str, Any]) -> "tuple[DeploymentReport, str | None]":
    """The plan of a source, and where its server would answer."""
    from hmactl.cli.asking import Asking, Reading, UsageFailure
    from hmactl.launch.address import serve_url
    from hmactl.report.build import build_report

    documents = list(Reading.of(asking).documents((source,)))
    if len(documents) != 1:
        raise UsageFailure(f"{source} holds {len(documents)} deployments; `verify` is about one")
    how = Asking(**asking)
    engine = how.engine()
    with how.session(engine) as session:
        checked = how.check(documents[0], session)
    if checked.deployment is None or checked.failure is not None or checked.verdict.flag is None:
        reason = checked.failure or checked.verdict.reason
        raise UsageFailure(f"{source} has no plan: {reason}; see `hmactl check {source}`")
    return build_report([checked]).deployments[0], serve_url(checked.deployment)


def _reported(path: Path) -> "DeploymentReport":
    """The only deployment of a JSON report."""
    from pydantic import ValidationError

    from hmactl.cli.asking import UsageFailure
    from hmactl.report.model import Report

    try:
        report = Report.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise UsageFailure(f"{path} is no report of `hmactl check --format json`") from None
    if len(report.deployments) != 1:
        raise UsageFailure(f"{path} is about {len(report.deployments)} deployments, not one")
    return report.deployments[0]
