"""From a checked deployment and its launch to what every form writes."""

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hmactl.catalogue.gpus import CPU, UnknownGpuError, find_gpu
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import Area
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache_memory import (
    host_memory,
    ranks_on_one_host,
    replicas_on_one_host,
    server_memory,
)
from hmactl.facts.transfer import written_connector
from hmactl.launch.endpoint import engine_endpoint, server_endpoint
from hmactl.launch.launch import Launch
from hmactl.launch.render.model import (
    Machine,
    Program,
    Reference,
    Rendered,
    Text,
)
from hmactl.launch.render.paths import Look, carried_paths, is_local
from hmactl.launch.render.secrets import Secrets

ENGINE, SERVER = "vllm", "lmcache"
_MP_CONNECTOR = "LMCacheMPConnector"
_OFFLOADING = "OffloadingConnector"
# Where images of vLLM, which run as root, keep what they download.
_CACHE = "/root/.cache/huggingface"
_SIZES = ("tensor-parallel-size", "pipeline-parallel-size")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of where hmactl runs: the working directory, how to look at a path in it, and the variables
    that the check saw there and a server elsewhere would not inherit."""

    directory: str
    look: Look
    inherited: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Launches:
    """What is to be started: the engine, and the LMCache server if it belongs to it."""

    engine: Launch
    server: Launch | None = None


def plan_rendering(
    deployment: Deployment,
    facts: Facts | None,
    launches: Launches,
    surroundings: Surroundings,
    *,
    remarks: Sequence[str] = (),
    image: str | None = None,
) -> Rendered:
    """What is to be written of ``launches``, whose settings are the ``deployment``'s.

    ``facts`` None leaves out what only an engine or the catalogue knows, such as how much memory
    LMCache takes.
    """
    alias = server_host(deployment)
    name = _slug(deployment.name)
    # The name by which the engine looks for its server is taken.
    name = f"{name}-{ENGINE}" if name == alias else name
    secrets = Secrets()
    engine = _program(ENGINE, launches.engine, deployment, secrets, surroundings)
    server = launches.server
    model = str(deployment.model.value)
    paths = carried_paths(deployment, engine, surroundings.look, surroundings.directory)
    relative = any(not name.startswith("/") for name, _path in paths)
    variables = dict(launches.engine.added)
    return Rendered(
        name=name,
        remarks=tuple(remarks),
        engine=engine,
        machine=_machine(deployment, facts),
        endpoint=engine_endpoint(deployment),
        server=None
        if server is None
        else _program(SERVER, server, deployment, secrets, surroundings),
        server_endpoint=None if server is None else server_endpoint(deployment),
        server_alias=None if alias is None or _is_here(alias) else alias,
        image=image,
        directory=surroundings.directory if relative else None,
        paths=tuple({path.path: path for _name, path in paths}.values()),
        cache=None if is_local(model) else _cache(variables),
        disk=_disk(variables),
    )


def server_host(deployment: Deployment) -> str | None:
    """The host at which the engine looks for the LMCache server; None without such a connector."""
    connector = written_connector(deployment)
    for one in () if connector is None else connector.walk():
        if one.name == _MP_CONNECTOR:
            return str(one.extra_config.get("lmcache.mp.host", "localhost")).rpartition("/")[2]
    return None


def server_is_elsewhere(deployment: Deployment) -> bool:
    """Whether the engine looks for its LMCache server on another machine, which an address says."""
    host = server_host(deployment)
    try:
        return host is not None and not ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    return host in {"localhost", "[::1]", "::1"} or host.startswith("127.")


def _slug(name: str) -> str:
    """A name for objects of any launcher."""
    slug = _NO_NAME.sub("-", name.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    if not slug or slug == SERVER:
        return ENGINE
    return slug if slug[0].isalpha() else f"{ENGINE}-{slug}"


def _program(
    name: str,
    launch: Launch,
    deployment: Deployment,
    secrets: Secrets,
    surroundings: Surroundings,
) -> Program:
    verb = launch.argv.index("serve" if name == ENGINE else "server") + 1
    known = {**surroundings.inherited, **launch.added}
    environment = [*secrets.environment(known), *_unknown_variables(deployment, known)]
    arguments = secrets.arguments(launch.argv[verb:])
    return Program(name, launch.argv[:verb], arguments, tuple(environment))


def _unknown_variables(
    deployment: Deployment, known: Mapping[str, str]
) -> Iterator[tuple[str, Text]]:
    for unknown in deployment.unknown:
        if unknown.area is Area.ENV and unknown.name is not None and unknown.name not in known:
            kind, _, field = unknown.text.partition(" ")
            of_pod = field if kind == "fieldRef" else None
            name = re.sub(r"\W", "_", unknown.name, flags=re.ASCII)
            yield unknown.name, (Reference(name, of_pod),)


def _machine(deployment: Deployment, facts: Facts | None) -> Machine:
    target, server = deployment.target, deployment.lmcache_server
    name = None
    try:
        gpu = find_gpu(target.gpu) if target.gpu else None
    except UnknownGpuError:
        gpu = None
    if gpu is not None:
        name = gpu.name
    return Machine(
        gpus=_gpus(deployment, facts),
        gpu=name,
        memory_limit=target.memory_limit,
        shm=target.shm,
        memlock=target.memlock,
        engine_memory=_engine_memory(deployment, facts),
        server_memory=None if facts is None else server_memory(facts),
        server_limit=None if server is None else server.memory_limit,
    )


def _gpus(deployment: Deployment, facts: Facts | None) -> int:
    if deployment.target.gpu == CPU or (facts is not None and facts.gpu is None):
        return 0
    if facts is not None and facts.answer.config is not None:
        return ranks_on_one_host(facts) * replicas_on_one_host(facts)
    local = deployment.vllm_setting("data-parallel-size-local")
    sizes = [deployment.vllm_setting(name) for name in _SIZES]
    sizes.append(local or deployment.vllm_setting("data-parallel-size"))
    product = 1
    for size in sizes:
        if size is not None and isinstance(size.value, int) and size.value > 0:
            product *= size.value
    return product


def _engine_memory(deployment: Deployment, facts: Facts | None) -> int | None:
    """Host memory that connectors in vLLM take: a store of LMCache's, and vLLM's own."""
    stores = None if facts is None else host_memory(facts)
    found = [] if stores is None else [stores.total]
    connector = written_connector(deployment)
    for one in () if connector is None else connector.walk():
        size = one.extra_config.get("cpu_bytes_to_use")
        if one.name == _OFFLOADING and isinstance(size, int | float):
            found.append(int(size))
    return sum(found) or None


def _cache(variables: Mapping[str, str]) -> str:
    """The directory of what is downloaded."""
    home = variables.get("HF_HOME", "")
    return home if home.startswith("/") else _CACHE


def _disk(variables: Mapping[str, str]) -> str | None:
    """The directory that LMCache writes to."""
    written = variables.get("LMCACHE_LOCAL_DISK", "")
    path = urlsplit(written).path if written.startswith("file://") else written
    return path.rstrip("/") if path.startswith("/") and path.strip("/") else None
