"""What is rendered means what was checked: hmactl's own readers read it again."""

from dataclasses import replace

import pytest
from conftest import ROOT
from rendering_back import READ_BACK, launches, meaning, read_back, rendered, secrets_of

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area
from hmactl.launch.render.json_form import launch_form
from hmactl.sources.given import Given
from hmactl.sources.profile import read_profiles
from hmactl.sources.read import read_source
from hmactl.sources.supplied import beside

CASES = ROOT / "tests" / "cases" / "sources"
SOURCES = sorted(
    path
    for path in CASES.glob("*/*")
    if path.is_file() and path.suffix not in {".expected", ".env"}
)


def _launchable(deployment: Deployment) -> bool:
    """What serve would start: nothing unknown but variables, which a rendering refers to."""
    known = all(u.area is Area.ENV and u.name is not None for u in deployment.unknown)
    return known and deployment.model.value is not None


def _deployments() -> dict[str, Deployment]:
    found = {}
    for path in SOURCES:
        given = beside(Given(), path.parent, path.parent)
        text = path.read_text("utf-8")
        for index, document in enumerate(
            read_source(path.name, text, Form(path.parent.name), given)
        ):
            if document.deployment is not None and _launchable(document.deployment):
                found[f"{path.parent.name}/{path.name}-{index}"] = document.deployment
    for path in sorted((ROOT / "profiles").glob("*.yaml")):
        for document in read_profiles(path.name, path.read_text("utf-8")):
            assert document.deployment is not None
            found[f"profiles/{path.name}"] = document.deployment
    return found


DEPLOYMENTS = _deployments()


def test_most_of_the_cases_are_launchable() -> None:
    assert len(DEPLOYMENTS) > 50


@pytest.mark.parametrize("form", [*READ_BACK, "env"])
@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_rendering_is_read_as_what_was_checked(name: str, form: str) -> None:
    deployment = DEPLOYMENTS[name]
    supplied = secrets_of(deployment)
    wanted = meaning(deployment, supplied)
    found = meaning(read_back(deployment, form), supplied)
    if form in {"systemd", "env"}:
        # Of these the server is a unit or a command of its own.
        wanted = replace(wanted, server=None)
        # What is supplied stands in a file of its own, or where docker runs.
        wanted = replace(wanted, unknown_variables=set())
    assert found == wanted


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_json_has_the_argv_and_variables_of_the_launch(name: str) -> None:
    deployment = DEPLOYMENTS[name]
    supplied = secrets_of(deployment)
    form, started = launch_form(rendered(deployment)), launches(deployment)

    def filled(word: object) -> str:
        if isinstance(word, str):
            return word
        assert isinstance(word, tuple)
        return "".join(p if isinstance(p, str) else supplied[p.variable] for p in word)

    assert tuple(map(filled, form.engine.argv)) == started.engine.argv
    written = {n: filled(v) for n, v in form.engine.env.items() if n in started.engine.added}
    assert written == dict(started.engine.added)
    servers = [tuple(map(filled, companion.argv)) for companion in form.companions]
    assert servers == ([] if started.server is None else [started.server.argv])
