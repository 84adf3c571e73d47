"""Deployments rendered without an engine, and read again by hmactl's own readers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hmactl.deployment.command import KV_TRANSFER_CONFIG, flag_arguments, lmcache_server_arguments
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import COMMAND_LINE, Area, Setting
from hmactl.engine.find import Engine
from hmactl.launch.launch import Launch, plan_launch
from hmactl.launch.render.forms import rendering_form
from hmactl.launch.render.model import CarriedPath, OutputFile, Rendered
from hmactl.launch.render.plan import Launches, Surroundings, plan_rendering, server_is_elsewhere
from hmactl.launch.render.secrets import Secrets
from hmactl.sources.container.env_files import docker_env_file
from hmactl.sources.given import Given
from hmactl.sources.process.word import Word
from hmactl.sources.read import read_source
from hmactl.verdict.verdict import HMA_OFF, HMA_ON

ENGINE = Engine(python=Path("python3"), python_version="", vllm_script=Path("/opt/vllm/bin/vllm"))
READ_BACK = {
    "shell": Form.SHELL,
    "systemd": Form.SYSTEMD,
    "compose": Form.COMPOSE,
    "kubernetes": Form.KUBERNETES,
}


def nothing_here(_path: str) -> CarriedPath | None:
    return None


def flag(deployment: Deployment) -> str:
    """A verdict's flag, whose decision an engine would have made."""
    return HMA_OFF if deployment.hma is HmaPolicy.DISABLE else HMA_ON


def launches(deployment: Deployment) -> Launches:
    engine = plan_launch(deployment, ENGINE, flag(deployment), (), {})
    server = lmcache_server_arguments(deployment)
    if server is None or server_is_elsewhere(deployment):
        return Launches(engine)
    return Launches(engine, Launch(("/opt/vllm/bin/lmcache", "server", *server), engine.added))


def rendered(deployment: Deployment) -> Rendered:
    surroundings = Surroundings("/srv/here", nothing_here, {})
    started = launches(deployment)
    return plan_rendering(
        deployment, None, started, surroundings, remarks=("of a test",), image="example/vllm:1"
    )


def files(deployment: Deployment, form: str) -> tuple[OutputFile, ...]:
    return rendering_form(form).render(rendered(deployment))


def secrets_of(deployment: Deployment) -> dict[str, str]:
    """What an operator would supply for the references."""
    secrets, started = Secrets(), launches(deployment)
    secrets.environment(started.engine.added)
    secrets.arguments(started.engine.argv[2:])
    return secrets.values


def read_back(deployment: Deployment, form: str) -> Deployment:
    """The deployment that hmactl reads out of a rendering, with the secrets supplied."""
    variables = secrets_of(deployment)
    written = files(deployment, form)
    if form == "env":
        return _of_env_file(written[0].text, variables)

    def secrets_file(path: str) -> TextFile | None:
        if not path.endswith("/secrets.env"):
            return None
        # Quoted as systemd reads it.
        lines = [f"{name}={json.dumps(value)}" for name, value in variables.items()]
        text = "\n".join(lines)
        return TextFile(path, text, places_of_file(path, text))

    given = Given({n: Word(v, COMMAND_LINE) for n, v in variables.items()}, secrets_file)
    (document,) = read_source(written[0].name, written[0].text, READ_BACK[form], given)
    assert document.deployment is not None
    return document.deployment


def _of_env_file(text: str, variables: Mapping[str, str]) -> Deployment:
    lines = [line for line in text.split("\n") if line.startswith("# /opt/vllm/bin/vllm serve")]
    (command,) = lines
    given = Given({n: Word(v, COMMAND_LINE) for n, v in variables.items()})
    (document,) = read_source("x.env", command.removeprefix("# "), Form.SHELL, given)
    assert document.deployment is not None
    file = TextFile("x.env", text, places_of_file("x.env", text))
    found = docker_env_file(file, lambda _name, _origin: None)
    env = tuple(Setting(v.name, v.value.text, v.origin) for v in found)
    return replace(document.deployment, env=env)


@dataclass(frozen=True)
class Meaning:
    """What a server could tell of a deployment."""

    model: object
    options: list[object]
    hma: HmaPolicy
    environment: dict[str, str]
    server: list[str] | None
    unknown_variables: set[str]


def meaning(deployment: Deployment, supplied: Mapping[str, str]) -> Meaning:
    options: list[object] = [_plain(flag_arguments(s.name, s.value)) for s in deployment.vllm]
    if deployment.connector is not None:
        config = deployment.connector.kv_transfer_config()
        options.append(_plain(flag_arguments(KV_TRANSFER_CONFIG, config)))
    server = lmcache_server_arguments(deployment)
    environment = plan_launch(deployment, ENGINE, None, (), {}).added
    return Meaning(
        model=deployment.model.value,
        options=options,
        hma=HmaPolicy.DISABLE if deployment.hma is HmaPolicy.DISABLE else HmaPolicy.KEEP,
        environment={n: v for n, v in environment.items() if n not in supplied},
        server=None if server is None else list(server),
        unknown_variables={
            unknown.name
            for unknown in deployment.unknown
            if unknown.area is Area.ENV and unknown.name and unknown.name not in supplied
        },
    )


def _plain(arguments: list[str]) -> list[Any]:
    return [_json(part) for argument in arguments for part in argument.split("=", 1)]


def _json(text: str) -> Any:
    if text.lstrip().startswith("{"):
        return json.loads(text)
    return text
