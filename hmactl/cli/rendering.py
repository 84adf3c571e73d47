"""Write a checked deployment in the form of another launcher: `render` and `serve --dry-run`."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from hmactl.checked import Checked
from hmactl.cli.launching import beside, planned, refuse_or_say, with_arguments
from hmactl.cli.reading import UsageFailure
from hmactl.deployment.command import lmcache_server_arguments
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area
from hmactl.engine.find import Engine
from hmactl.launch.hash_seed import VARIABLE as HASH_SEED
from hmactl.launch.lacking import lacking
from hmactl.launch.launch import HMA_FLAGS, Launch
from hmactl.launch.render.forms import MAYBE_OF_IMAGES, OF_IMAGES, rendering_form
from hmactl.launch.render.image import NoImageError, default_image
from hmactl.launch.render.model import NotRenderedError, OutputFile, Rendered
from hmactl.launch.render.paths import look_from
from hmactl.launch.render.plan import (
    Launches,
    Surroundings,
    plan_rendering,
    server_is_elsewhere,
)
from hmactl.lint import Pins, lint_document
from hmactl.report.redact import redact
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.image import versions
from hmactl.sources.supplied import beside as supplied_beside

ENGINE_OF_PATH = Engine(python=Path("python3"), python_version="", vllm_script=Path("vllm"))
"""The engine of an image, or of a machine of which nothing is known: `vllm` on its PATH."""

# What the check takes from the environment that hmactl runs in, and servers elsewhere do not have.
_INHERITED = ("LMCACHE_", "VLLM_")


def rendered_files(
    checked: Checked,
    engine: Engine,
    extra: Sequence[str],
    form: str,
    image: str | None,
) -> tuple[OutputFile, ...]:
    """The files of a checked deployment in that form; what they need besides is said.

    Raises UsageFailure where the form cannot say it.
    """
    rendered = _plan(checked, engine, extra, form, image)
    rendering = rendering_form(form)
    try:
        files = rendering.render(rendered)
    except NotRenderedError as error:
        raise UsageFailure(str(error)) from None
    for note in (*_notes(checked, rendered, form), *rendering.notes(rendered)):
        click.echo(f"hmactl: {note}", err=True)
    return files


def _plan(
    checked: Checked, engine: Engine, extra: Sequence[str], form: str, image: str | None
) -> Rendered:
    deployment = checked.deployment
    if deployment is None:
        raise UsageFailure("nothing was read that could be rendered")
    in_image = form in OF_IMAGES or (form in MAYBE_OF_IMAGES and image is not None)
    if image is not None and not in_image:
        raise click.UsageError(f"--image is for containers, and {form} is for this machine")
    starts = ENGINE_OF_PATH if in_image else engine
    launch = planned(checked, deployment, starts, extra)
    whole = with_arguments(deployment, extra)
    vllm, lmcache = engine_versions(checked)
    if in_image and image is None:
        try:
            image = default_image(whole, vllm, lmcache)
        except NoImageError as error:
            raise UsageFailure(f"{error}: name an image with --image") from None
    if image is not None:
        _hold_to_image(image, vllm, lmcache)
    return plan_rendering(
        whole,
        checked.facts,
        Launches(launch, _server(deployment, launch, starts)),
        Surroundings(str(Path.cwd()), look_from(Path.cwd()), _inherited(launch)),
        remarks=tuple(map(redact, _remarks(checked, deployment))),
        image=image,
    )


def engine_versions(checked: Checked) -> tuple[str | None, str | None]:
    """The vLLM and the LMCache that judged it, as far as they are known."""
    if checked.facts is None:
        return None, None
    found = checked.facts.answer.versions
    return found.vllm or None, found.lmcache


def _hold_to_image(image: str, vllm: str | None, lmcache: str | None) -> None:
    for name, held, seen in zip(("vLLM", "LMCache"), versions(image), (vllm, lmcache), strict=True):
        if held is not None and seen is not None and held != seen:
            raise UsageFailure(
                f"{image} holds {name} {held}, and what was checked is {name} {seen}: name the "
                "interpreter of that release with --python, or another image"
            )


def _server(deployment: Deployment, engine: Launch, starts: Engine) -> Launch | None:
    """The LMCache server, where the source starts one and the engine looks for it beside itself."""
    server, arguments = deployment.lmcache_server, lmcache_server_arguments(deployment)
    if server is None or arguments is None or server_is_elsewhere(deployment):
        return None
    if not server.start and deployment.form is Form.PROFILE:
        return None
    if starts is ENGINE_OF_PATH:
        return Launch(("lmcache", "server", *arguments), engine.added)
    started = replace(deployment, lmcache_server=replace(server, start=True))
    return beside(started, starts, engine)


def _inherited(launch: Launch) -> dict[str, str]:
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if (name.startswith(_INHERITED) or name == HASH_SEED) and name not in launch.added
    }


def _remarks(checked: Checked, deployment: Deployment) -> Iterator[str]:
    yield f"{deployment.name}, from {deployment.source}, rendered by hmactl"
    vllm, lmcache = engine_versions(checked)
    if vllm is not None:
        pair = f"vLLM {vllm}" + ("" if lmcache is None else f", LMCache {lmcache}")
        yield f"checked for {pair}"
    flag = "" if checked.verdict.flag is None else f" ({checked.verdict.flag})"
    yield f"verdict: {checked.verdict.decision}{flag}, {checked.verdict.reason}"


def _notes(checked: Checked, rendered: Rendered, form: str) -> Iterator[str]:
    inherited = [name for name, _value in rendered.engine.environment if name in os.environ]
    deployment = checked.deployment
    own = set() if deployment is None else {setting.name for setting in deployment.env}
    taken = [n for n in inherited if (n.startswith(_INHERITED) or n == HASH_SEED) and n not in own]
    if taken:
        yield f"taken over from this environment: {', '.join(taken)}"
    server = None if deployment is None else deployment.lmcache_server
    if server is not None and rendered.server is None:
        yield "the LMCache server is expected to run already: the profile does not start it"
    if form not in OF_IMAGES:
        for path in rendered.paths:
            if not path.here:
                yield f"{path.path} is not on this machine, and has to be where the server starts"


def judged_by_catalogue(document: Document, source: str, given: Given) -> Checked:
    """The outcome as `hmactl lint` has it; the releases are the target's."""
    directory = Path.cwd() if source == "-" else Path(source).parent
    read_file = supplied_beside(given, directory, Path.cwd()).read_file
    linted = lint_document(document, Pins(), read_file)
    facts = linted.checked.facts
    if facts is None:
        return linted.checked
    # Where the target names no release, the facts are the newest one's and the findings all's.
    known = replace(facts.answer.versions, vllm=linted.vllm or "", lmcache=linted.lmcache)
    answer = replace(facts.answer, versions=known)
    return replace(linted.checked, facts=replace(facts, answer=answer))


def refuse_flags(extra: Sequence[str], force: str | None) -> None:
    """Raises click.UsageError for further arguments that would undo the decision about HMA."""
    if force is not None and not force.strip():
        raise click.BadParameter("the reason is empty", param_hint="--force")
    flags = sorted(HMA_FLAGS.intersection(argument.partition("=")[0] for argument in extra))
    if flags:
        raise click.UsageError(
            f"{flags[0]} is hmactl's decision: set `hma:` in the profile instead"
        )


def refuse_what_is_not_certain(checked: Checked, force: str | None) -> None:
    """End here where the deployment is refused, or where a setting is not known that no variable
    can stand for, unless the operator forces it, which is then said."""
    deployment = checked.deployment
    if deployment is None:
        sys.exit(1)
    named = tuple(u for u in deployment.unknown if u.area is not Area.ENV or u.name is None)
    lacks = list(lacking(replace(deployment, unknown=named, files=()), os.environ))
    for sentence in lacks:
        click.echo(f"hmactl: {sentence}", err=True)
    if not checked.launchable or lacks:
        status = 2 if checked.failure is not None else 1
        refuse_or_say(force, status=status, words=("rendered", "renders"))


def write(files: Sequence[OutputFile], output: Path | None, *, overwrite: bool = False) -> None:
    """Print the files, or write them to a file; several, into a directory.

    Raises UsageFailure where they cannot be written there.
    """
    if output is None:
        for file in files:
            if len(files) > 1:
                click.echo(f"# {file.name}")
            click.echo(file.text, nl=False)
        return
    into = len(files) > 1 or output.is_dir()
    if into and not output.is_dir():
        try:
            output.mkdir()
        except OSError as error:
            raise UsageFailure(f"{output} is no directory: {error.strerror}") from None
    for file in files:
        path = output / file.name if into else output
        try:
            with path.open("w" if overwrite else "x", encoding="utf-8") as opened:
                opened.write(file.text)
        except FileExistsError:
            raise UsageFailure(f"{path} exists; --overwrite replaces it") from None
        except OSError as error:
            raise UsageFailure(f"{path} cannot be written: {error.strerror}") from None
        click.echo(f"hmactl: wrote {path}", err=True)
