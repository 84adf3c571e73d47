"""One ``vllm serve`` process with its companions, as an operator configured it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import DEFAULT, Area, Json, Origin, Setting, Unknown


@dataclass(frozen=True, slots=True)
class Connector:
    """A KV connector as written: what becomes ``--kv-transfer-config``.

    ``options`` holds further KVTransferConfig fields under their own names (kv_load_failure_policy,
    engine_id, ...). Children are MultiConnector's; each has its own role and extra config, because
    vLLM does not inherit the parent's. ``places`` are those of its name and of the keys in it.
    """

    name: str
    origin: Origin
    role: str = "kv_both"
    module_path: str | None = None
    extra_config: dict[str, Json] = field(default_factory=dict)
    options: dict[str, Json] = field(default_factory=dict)
    children: "tuple[Connector, ...]" = ()
    places: tuple[tuple[str, Origin], ...] = field(default=(), compare=False, repr=False)

    def place_of(self, name: str) -> Origin | None:
        """Where that key, or the connector's name, is written; None where that is not certain."""
        found = [origin for written, origin in self.places if written == name]
        return found[0] if len(found) == 1 else None

    def walk(self) -> "Iterator[Connector]":
        """This connector, then its children, theirs right behind each."""
        yield self
        for child in self.children:
            yield from child.walk()

    def kv_transfer_config(self) -> dict[str, Json]:
        """The JSON object that ``--kv-transfer-config`` takes."""
        config: dict[str, Json] = {"kv_connector": self.name, "kv_role": self.role}
        if self.module_path is not None:
            config["kv_connector_module_path"] = self.module_path
        extra = dict(self.extra_config)
        if self.children:
            extra["connectors"] = [child.kv_transfer_config() for child in self.children]
        if extra:
            config["kv_connector_extra_config"] = extra
        return config | self.options


@dataclass(frozen=True, slots=True)
class LMCacheServer:
    """``lmcache_server:``: the LMCache MP server that LMCacheMPConnector talks to.

    ``start`` says whether hmactl is asked to start it; ``options`` are ``lmcache server``'s own
    long option names, without dashes in front. ``apart``: it runs in a container of its own, whose
    limit in bytes is ``memory_limit``; None means: not said.
    """

    origin: Origin
    start: bool = False
    options: tuple[Setting, ...] = ()
    apart: bool = False
    memory_limit: int | None = None

    def option(self, name: str) -> Setting | None:
        """The last setting of that option, as the server's parser would see it."""
        return next((s for s in reversed(self.options) if s.name == name), None)


UNLIMITED = 2**63 - 1
"""``memlock: unlimited``, which no size reaches."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the deployment will run. Sizes in bytes; None means: not said.

    ``kv_cache_memory`` is the KV cache memory per GPU to plan for, when the operator knows it.
    ``memory_limit`` is the container's, ``shm`` the size of its ``/dev/shm``, ``disk`` the space
    for LMCache's disk directory (filesystem or ephemeral storage), ``memlock`` RLIMIT_MEMLOCK.
    ``vllm``, ``lmcache`` and ``lmcache_server_version`` are versions.
    """

    gpu: str | None = None
    gpu_origin: Origin = DEFAULT
    gpus: int | None = None
    host_memory: int | None = None
    memory_limit: int | None = None
    shm: int | None = None
    disk: int | None = None
    memlock: int | None = None
    kv_cache_memory: int | None = None
    vllm: str | None = None
    lmcache: str | None = None
    lmcache_server_version: str | None = None

    @property
    def memory_bound(self) -> tuple[str, int] | None:
        """The host memory that there is in bytes, behind "the host" or "the container"."""
        bounds = [("the container", self.memory_limit), ("the host", self.host_memory)]
        known = [(who, size) for who, size in bounds if size is not None]
        return min(known, key=lambda bound: bound[1]) if known else None


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment with the origin of every setting.

    ``vllm`` names are long option names in dashed form without dashes in front
    ("max-model-len"); ``lmcache`` names are LMCache's own keys ("chunk_size"). ``unknown`` has the
    settings that were written but whose value cannot be known; they are in none of the others. An
    unknown model is a ``model`` whose value is None. ``files`` are those that its processes find at
    a path and whose content stands in the source, such as a ConfigMap's.
    """

    source: str
    name: str
    model: Setting
    vllm: tuple[Setting, ...] = ()
    connector: Connector | None = None
    hma: HmaPolicy = HmaPolicy.AUTO
    hma_origin: Origin = DEFAULT
    lmcache: tuple[Setting, ...] = ()
    lmcache_server: LMCacheServer | None = None
    env: tuple[Setting, ...] = ()
    target: Target = field(default_factory=Target)
    unknown: tuple[Unknown, ...] = ()
    form: Form = Form.PROFILE
    files: tuple[TextFile, ...] = ()

    @property
    def server_memory_bound(self) -> tuple[str, int] | None:
        """The host memory that there is for the LMCache server, behind whose it is."""
        server, target = self.lmcache_server, self.target
        if server is not None and server.apart:
            target = replace(target, memory_limit=server.memory_limit)
        return target.memory_bound

    def is_unknown(self, area: Area, name: str) -> bool:
        """Whether that setting may have been written with a value that cannot be known."""
        return any(u.area is area and u.name in {None, name} for u in self.unknown)

    def vllm_setting(self, name: str) -> Setting | None:
        """The last setting of that long option name, as vLLM's parser would see it."""
        return next((s for s in reversed(self.vllm) if s.name == name), None)
