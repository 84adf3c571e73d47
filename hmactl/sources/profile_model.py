"""The profile document: what it may hold, for the reader and for the JSON Schema.

Where a value stands in a file is not known here.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from hmactl.deployment.setting import Json
from hmactl.sources.node import Route
from hmactl.sources.profile_shape import (
    Complaint,
    FurtherKeys,
    Given,
    Items,
    Key,
    Misfit,
    Mistake,
    Names,
    Section,
    Shape,
)
from hmactl.sources.profile_values import (
    COUNT,
    LIMIT,
    MODEL,
    OPTION,
    POLICY,
    ROLE,
    SIZE,
    SWITCH,
    VARIABLE,
    VERSION,
    text,
)

OPTION_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
LMCACHE_KEY = r"^[a-z][a-z0-9_]*$"
VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
# The model and HMA have keys of their own (PRO007), as have a connector's first four fields.
_NO_OPTION = r"^(model|model[_-]tag|(no[_-])?(disable|enable)[_-]hybrid[_-]kv[_-]cache[_-]manager)$"
_NO_FIELD = r"^kv_(connector|role|connector_module_path|connector_extra_config)$"


class ConnectorForm(NamedTuple):
    """A connector: its name, or a mapping."""

    name: Shape

    @property
    def mapping(self) -> Section:
        return Section(ConnectorModel)

    def read(self, value: Json, route: Route, mistakes: list[Mistake]) -> Any:
        if isinstance(value, str):
            return self.name.read(value, route, mistakes)
        if isinstance(value, dict):
            return self.mapping.read(value, route, mistakes)
        expected = "a connector's name, or a mapping with `name`"
        fix = "write a connector's name, such as `LMCacheConnectorV1`"
        mistakes.append(Misfit(route, Complaint(expected, fix=fix)))
        return None


_CONNECTOR = ConnectorForm(text("connector: LMCacheConnectorV1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorModel:
    """A KV connector: what becomes `--kv-transfer-config`."""

    name: Annotated[
        str,
        Key(
            text("name: LMCacheConnectorV1"),
            "Class name of the connector (`kv_connector`).",
            ("LMCacheConnectorV1", "OffloadingConnector", "NixlConnector"),
        ),
    ]
    role: Annotated[
        str,
        Key(ROLE, "Whether this server stores KV cache, loads it, or both (`kv_role`)."),
    ] = "kv_both"
    module_path: Annotated[
        str | None,
        Key(
            text("module_path: my_package.my_connector"),
            "Python module to load the connector from (`kv_connector_module_path`).",
        ),
    ] = None
    extra_config: Annotated[
        dict[str, Json],
        Key(
            Names(),
            "The connector's own keys and values (`kv_connector_extra_config`).",
            ({"cpu_bytes_to_use": 68719476736},),
        ),
    ] = field(default_factory=dict)
    options: Annotated[
        dict[str, Json],
        Key(
            Names(other_names=_NO_FIELD),
            "Further fields of vLLM's KVTransferConfig, by their own names.",
            ({"kv_load_failure_policy": "recompute"},),
        ),
    ] = field(default_factory=dict)
    children: Annotated[
        tuple["str | ConnectorModel", ...],
        Key(
            Items(_CONNECTOR),
            "The connectors that a MultiConnector combines, in order of preference. None of them "
            "inherits anything from this one.",
        ),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LMCacheServerModel:
    """The LMCache server; all further keys are long options of `lmcache server`, without dashes."""

    start: Annotated[
        bool,
        Key(SWITCH, "true: hmactl starts the server beside vLLM. false: it is expected to run."),
    ] = False
    options: Annotated[dict[str, Json], FurtherKeys(OPTION, OPTION_NAME)] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetModel:
    """Where the deployment will run, for planning without that machine."""

    gpu: Annotated[
        str | None,
        Key(
            text("gpu: H100-80GB"),
            "The GPU's name in hmactl's catalogue, or `cpu`.",
            ("H100-80GB", "L40S"),
        ),
    ] = None
    gpus: Annotated[int | None, Key(COUNT, "Number of GPUs in the machine.")] = None
    host_memory: Annotated[
        int | None,
        Key(
            SIZE,
            "Host memory that the deployment may use: bytes, or a number with a unit.",
            ("128 GiB",),
        ),
    ] = None
    memory_limit: Annotated[
        int | None,
        Key(SIZE, "Memory limit of the container: bytes, or a number with a unit.", ("120Gi",)),
    ] = None
    shm: Annotated[
        int | None,
        Key(SIZE, "Size of /dev/shm where the LMCache server and vLLM run.", ("16 GiB",)),
    ] = None
    disk: Annotated[
        int | None,
        Key(
            SIZE,
            "Space for LMCache's disk directory: of its filesystem, or the ephemeral storage that "
            "the container may use.",
            ("2 TiB",),
        ),
    ] = None
    memlock: Annotated[
        int | None,
        Key(
            LIMIT,
            "Memory that a process may lock (ulimit -l), in bytes or with a unit, or `unlimited`.",
            ("64 KiB", "unlimited"),
        ),
    ] = None
    kv_cache_memory: Annotated[
        int | None,
        Key(
            SIZE,
            "KV cache memory per GPU to plan for: bytes, or a number with a unit.",
            ("40 GiB",),
        ),
    ] = None
    vllm: Annotated[
        str | None,
        Key(
            VERSION,
            "vLLM version to check against where no vLLM is installed; in quotes.",
            ("0.32.0",),
        ),
    ] = None
    lmcache: Annotated[
        str | None,
        Key(
            VERSION,
            "LMCache version to check against where no LMCache is installed; in quotes.",
            ("0.5.6",),
        ),
    ] = None
    lmcache_server_version: Annotated[
        str | None,
        Key(
            VERSION,
            "LMCache version of the LMCache server, where it is known; in quotes.",
            ("0.5.6",),
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileModel:
    """One deployment: a `vllm serve` process with its companions."""

    name: Annotated[
        str | None,
        Key(text("name: chat"), "Name of the deployment; the file's name if not given."),
    ] = None
    model: Annotated[
        str,
        Key(
            MODEL,
            "Model to serve: a Hugging Face name or a directory.",
            ("google/gemma-3-4b-it",),
        ),
    ]
    vllm: Annotated[
        dict[str, Json],
        Key(
            Names(OPTION, names=OPTION_NAME, other_names=_NO_OPTION),
            "Long options of `vllm serve` without dashes in front, such as `max-model-len` or "
            "`max_model_len`, in vLLM's own units.",
        ),
    ] = field(default_factory=dict)
    connector: Annotated[
        str | ConnectorModel | None,
        Key(Given(_CONNECTOR), "The KV connector: its name, or a mapping."),
    ] = None
    hma: Annotated[
        str,
        Key(
            POLICY,
            "The hybrid KV cache manager. auto: keep it where the connector can, else disable it "
            "where the model can, else refuse. keep: never disable. disable: always.",
        ),
    ] = "auto"
    lmcache: Annotated[
        dict[str, Json],
        Key(
            Names(names=LMCACHE_KEY),
            "Keys of LMCache's own configuration, in LMCache's units (sizes in GB).",
        ),
    ] = field(default_factory=dict)
    lmcache_server: Annotated[
        LMCacheServerModel | None,
        Key(
            Given(Section(LMCacheServerModel)),
            "The LMCache server that LMCacheMPConnector talks to.",
        ),
    ] = None
    env: Annotated[
        dict[str, Json],
        Key(
            Names(VARIABLE, names=VARIABLE_NAME),
            "Environment variables that are added for the server.",
        ),
    ] = field(default_factory=dict)
    target: Annotated[
        TargetModel,
        Key(Section(TargetModel), "Where it will run, and which versions."),
    ] = TargetModel()
