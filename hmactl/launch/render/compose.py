"""A compose file."""

from collections.abc import Iterator, Mapping
from typing import Any

from hmactl.deployment.deployment import UNLIMITED
from hmactl.launch.render.model import (
    CarriedPath,
    OutputFile,
    Program,
    Rendered,
    Text,
    text_of,
)
from hmactl.launch.render.words import health_command
from hmactl.launch.render.yaml_text import Block, Quoted, yaml_text

# The weights may have to be downloaded first.
_START = "1h"


def render_compose(rendered: Rendered) -> tuple[OutputFile, ...]:
    """A file with a service for the engine and one for its LMCache server."""
    server, engine = rendered.server, rendered.engine
    services: dict[str, Any] = {}
    if server is not None:
        services[_server_name(rendered)] = _service(rendered, server)
    services[rendered.name] = _service(rendered, engine)
    if server is not None:
        healthy = "service_healthy" if rendered.server_endpoint is not None else "service_started"
        services[rendered.name]["depends_on"] = {_server_name(rendered): {"condition": healthy}}
    document: dict[str, Any] = {"services": services}
    if rendered.cache is not None or rendered.disk is not None:
        names = {"huggingface": rendered.cache, "lmcache-disk": rendered.disk}
        document["volumes"] = {name: {} for name, path in names.items() if path is not None}
    if configs := dict(_configs(rendered)):
        document["configs"] = configs
    return (OutputFile(f"{rendered.name}.compose.yaml", yaml_text(rendered, [document])),)


def compose_notes(rendered: Rendered) -> Iterator[str]:
    """What has to be there before the services can start."""
    if rendered.references:
        yield (
            "not written, and needed in the environment of `docker compose` or in `.env`: "
            f"{', '.join(rendered.references)}"
        )
    for path in rendered.paths:
        if path.secret and not path.here:
            yield f"{path.path} holds a secret and is not written: put it at ./{path.base}"
        elif not path.here and path.text is None:
            yield f"{path.path} is not on this machine, and is expected where the services run"
    if _on_the_host(rendered):
        yield (
            "the engine looks for its LMCache server at localhost, so both are on the host's "
            "network"
        )
    elif rendered.endpoint is not None and rendered.endpoint.loopback:
        yield f"`host` is {rendered.endpoint.host}: only its own container reaches the server"


def _server_name(rendered: Rendered) -> str:
    return rendered.server_alias or "lmcache"


def _on_the_host(rendered: Rendered) -> bool:
    return rendered.server is not None and rendered.server_alias is None


def _service(rendered: Rendered, program: Program) -> dict[str, Any]:
    is_engine, machine = program is rendered.engine, rendered.machine
    endpoint = rendered.endpoint if is_engine else rendered.server_endpoint
    service: dict[str, Any] = {
        "image": Quoted(_escaped(rendered.image or "")),
        "entrypoint": [Quoted(_escaped(word)) for word in program.command],
        "command": [_text(argument) for argument in program.arguments],
    }
    if program.environment:
        service["environment"] = {name: _text(value) for name, value in program.environment}
    if rendered.directory is not None:
        service["working_dir"] = Quoted(_escaped(rendered.directory))
    if _on_the_host(rendered):
        service["network_mode"] = "host"
    elif is_engine and endpoint is not None:
        service["ports"] = [Quoted(f"{endpoint.port}:{endpoint.port}")]
    # What passes between processes goes through /dev/shm, of which a container has 64 MiB.
    if machine.shm is None or rendered.server is not None:
        service["ipc"] = "host"
    else:
        service["shm_size"] = _size(machine.shm)
    if machine.memlock is not None:
        limit = -1 if machine.memlock == UNLIMITED else machine.memlock
        service["ulimits"] = {"memlock": {"soft": limit, "hard": limit}}
    if volumes := list(_volumes(rendered, of_engine=is_engine)):
        service["volumes"] = volumes
    if configs := [_mounted(path) for path in rendered.paths if path.text and not path.here]:
        service["configs"] = configs
    if resources := _resources(rendered, of_engine=is_engine):
        service["deploy"] = {"resources": resources}
    if endpoint is not None:
        service["healthcheck"] = {
            "test": ["CMD", *(Quoted(_escaped(word)) for word in health_command(endpoint))],
            "interval": "10s",
            "timeout": "10s",
            "retries": 3,
            "start_period": _START,
        }
    service["restart"] = "unless-stopped"
    service["stop_grace_period"] = "2m"
    return service


def _resources(rendered: Rendered, *, of_engine: bool) -> Mapping[str, Mapping[str, Any]]:
    machine = rendered.machine
    memory, limit = machine.server_memory, machine.server_limit
    if of_engine:
        memory, limit = machine.engine_memory, machine.memory_limit
    resources: dict[str, dict[str, Any]] = {}
    if limit is not None:
        resources["limits"] = {"memory": _size(limit)}
    reserved: dict[str, Any] = {}
    if memory is not None and (limit is None or memory <= limit):
        reserved["memory"] = _size(memory)
    if machine.gpus:
        chosen = {name for name, _value in rendered.engine.environment}
        # CUDA_VISIBLE_DEVICES counts the GPUs that the container sees.
        sees_all = not of_engine or "CUDA_VISIBLE_DEVICES" in chosen or rendered.server is not None
        count = "all" if sees_all else machine.gpus
        reserved["devices"] = [{"driver": "nvidia", "count": count, "capabilities": ["gpu"]}]
    if reserved:
        resources["reservations"] = reserved
    return resources


def _volumes(rendered: Rendered, *, of_engine: bool) -> Iterator[dict[str, Any]]:
    if of_engine and rendered.cache is not None:
        yield _volume("volume", "huggingface", rendered.cache)
    if of_engine and rendered.disk is not None:
        yield _volume("volume", "lmcache-disk", rendered.disk)
    for path in rendered.paths:
        if path.text is None or path.here:
            source = f"./{path.base}" if path.secret and not path.here else path.path
            bound = _volume("bind", source, path.path)
            yield bound if path.directory else {**bound, "read_only": True}


def _volume(kind: str, source: str, target: str) -> dict[str, Any]:
    return {
        "type": kind,
        "source": Quoted(_escaped(source)),
        "target": Quoted(_escaped(target)),
    }


def _configs(rendered: Rendered) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in rendered.paths:
        if path.text and not path.here:
            yield _config_name(path), {"content": Block(_escaped(path.text))}


def _mounted(path: CarriedPath) -> dict[str, Any]:
    return {"source": _config_name(path), "target": Quoted(_escaped(path.path))}


def _config_name(path: CarriedPath) -> str:
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in path.path.lower())
    return name.strip("-")


def _size(size: int) -> Quoted:
    for unit, factor in (("g", 2**30), ("m", 2**20), ("k", 2**10)):
        if size % factor == 0:
            return Quoted(f"{size // factor}{unit}")
    return Quoted(f"{size}b")


def _text(text: Text) -> Quoted:
    return Quoted(text_of(text, _escaped, lambda reference: f"${{{reference.name}:?}}"))


def _escaped(text: str) -> str:
    return text.replace("$", "$$")
