"""``hmactl verify``."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hmactl.cli.options import engine_options, source_options

if TYPE_CHECKING:
    from hmactl.facts.facts import Facts
    from hmactl.launch.verify.found import Found
    from hmactl.launch.verify.result import Comparison
    from hmactl.launch.verify.server import Server
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
@click.option(
    "--ca-file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="The certificates to trust of a server with https, instead of the system's.",
)
@click.option(
    "--probe",
    is_flag=True,
    help="Send long prompts and prove that what is stored outside the GPU comes back.",
)
@click.option(
    "--probe-tokens",
    type=click.IntRange(min=1),
    default=500_000,
    show_default=True,
    metavar="N",
    help="Send at most about this many prompt tokens.",
)
@click.option(
    "--probe-timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up on the answers of a probe after this long.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Then show what the server does with its cache, until it is interrupted.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Look this often with --watch.",
)
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text")
def command(
    target: str,
    *,
    plan: Path | None,
    output: str,
    color: str,
    ca_file: Path | None,
    watch: bool,
    interval: float,
    **options: Any,
) -> None:
    """Hold a running server against its plan; it is only read from, unless with --probe.

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
    probing = {name: options.pop(f"probe{name}") for name in ("", "_tokens", "_timeout")}
    deadline = time.monotonic() + options["timeout"]
    is_url = target.startswith(("http://", "https://"))
    if is_url and url is not None:
        raise click.UsageError("--url is for a SOURCE; the address is given already")
    if watch and output == "json":
        raise click.UsageError("--watch is for people, and has no --format json")
    if plan is not None and not is_url:
        raise click.UsageError("--plan is for a URL; the plan of a SOURCE is made anew")
    if is_url:
        made = _Made(None if plan is None else _reported(plan), target)
    else:
        made = _checked(target, dict(options))
    address = url or made.url
    if address is None:
        raise click.UsageError("the deployment has no TCP port of its own: give --url")
    try:
        server = Server(server_url(address), api_key or None, ca_file=ca_file)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="the server") from None
    try:
        log = read_logs(logs)
    except OSError as error:
        raise click.BadParameter(f"cannot be read: {error.strerror}", param_hint="--log") from None
    wait = 0.0 if once else max(0.0, deadline - time.monotonic())
    probe = None
    if probing[""]:
        probe = _probing(server, made, probing, quiet=bool(options.get("quiet")))
    verification = verify(server, made.report, log, wait=wait, probe=probe)
    if output == "json":
        click.echo(verification.model_dump_json(indent=2, by_alias=True))
    else:
        click.echo(render_verification(verification, styler(color)))
    if watch and verification.failure is None:
        from hmactl.cli.watching import watch_server

        watch_server(server, interval)
        sys.exit(0)
    sys.exit(verification.status)


@dataclass(frozen=True, slots=True)
class _Made:
    """The plan, where its server would answer, and what the plan was made of.

    ``chunk`` are the tokens that its connector stores at once.
    """

    report: "DeploymentReport | None"
    url: str | None = None
    facts: "Facts | None" = None

    @property
    def chunk(self) -> int | None:
        from hmactl.facts.lmcache_memory import chunk_tokens, server_chunk_tokens

        if self.facts is None:
            return None
        return chunk_tokens(self.facts) or server_chunk_tokens(self.facts)


def _checked(source: str, asking: dict[str, Any]) -> _Made:
    """The plan of a source."""
    from hmactl.cli.asking import Asking
    from hmactl.cli.reading import Reading, UsageFailure
    from hmactl.launch.address import serve_url
    from hmactl.report.build import build_report

    documents = list(Reading.of(asking).documents((source,)))
    if len(documents) != 1:
        raise UsageFailure(f"{source} holds {len(documents)} deployments; `verify` is about one")
    how = Asking(**asking)
    engine = how.engine()
    with how.session(engine) as session:
        checked = how.check(documents[0], session)
    if checked.deployment is None or checked.facts is None or checked.verdict.flag is None:
        reason = checked.failure or checked.verdict.reason
        raise UsageFailure(f"{source} has no plan: {reason}; see `hmactl check {source}`")
    report = build_report([checked]).deployments[0]
    return _Made(report, serve_url(checked.deployment), checked.facts)


def _probing(
    server: "Server", made: _Made, options: dict[str, Any], *, quiet: bool
) -> "Callable[[Found], Iterable[Comparison]]":
    """The probe, to be run once it is known what the server says of itself."""
    from hmactl.launch.verify.probe import Bounds, Probe
    from hmactl.launch.verify.tier import planned_tier
    from hmactl.launch.verify.verify import plans_no_hits, why_no_hits

    def tell(text: str) -> None:
        if not quiet:
            click.echo(f"hmactl: {text}", err=True)

    def probe(found: "Found") -> "Iterable[Comparison]":
        return Probe(
            server,
            found,
            made.chunk,
            Bounds(options["_tokens"], options["_timeout"]),
            no_hits=why_no_hits(made.report, found),
            planned=plans_no_hits(made.report),
            tier=None if made.facts is None else planned_tier(made.facts, server),
            tell=tell,
        ).run()

    return probe


def _reported(path: Path) -> "DeploymentReport":
    """The only deployment of a JSON report."""
    from pydantic import ValidationError

    from hmactl.cli.reading import UsageFailure
    from hmactl.report.model import Report

    try:
        report = Report.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise UsageFailure(f"{path} is no report of `hmactl check --format json`") from None
    if len(report.deployments) != 1:
        raise UsageFailure(f"{path} is about {len(report.deployments)} deployments, not one")
    return report.deployments[0]
