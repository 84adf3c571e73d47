"""The profile document: what it may hold, and the JSON Schema for editors and CI.

A value that does not fit raises a `Complaint` in an operator's words. Where the value stands in a
file is not known here.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args

from packaging.version import InvalidVersion, Version
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from hmactl.deployment.deployment import UNLIMITED
from hmactl.deployment.size import parse_size

OPTION_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
LMCACHE_KEY = r"^[a-z][a-z0-9_]*$"
VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
# The model and HMA have keys of their own (PRO007), as have a connector's first four fields.
_NO_OPTION = r"^(model|model[_-]tag|(no[_-])?(disable|enable)[_-]hybrid[_-]kv[_-]cache[_-]manager)$"
_NO_FIELD = r"^kv_(connector|role|connector_module_path|connector_extra_config)$"


class Complaint(ValueError):  # noqa: N818 - it is what an operator reads, not a failure
    """Why a value does not fit.

    ``expected`` completes "must be ..."; ``message`` replaces that whole sentence. In ``message``
    and ``fix``, ``{key}`` stands for the key and ``{written}`` for the value as the file has it.
    """

    def __init__(
        self, expected: str, *, fix: str, message: str | None = None, consequence: str | None = None
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        self.fix = fix
        self.message = message
        self.consequence = consequence


def _text(example: str) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and value.strip():
            return value
        quote = isinstance(value, bool | int | float)
        raise Complaint(
            "text",
            fix='quote it: `{key}: "{written}"`' if quote else f"write for example `{example}`",
        )

    return BeforeValidator(check)


def _one_of(words: Sequence[str]) -> BeforeValidator:
    def check(value: object) -> object:
        if value in words:
            return value
        listed = f"{', '.join(f'`{word}`' for word in words[:-1])} or `{words[-1]}`"
        near = get_close_matches(value.lower(), words, 1) if isinstance(value, str) else []
        fix = f"write `{{key}}: {near[0]}`" if near else f"write {listed}"
        raise Complaint(listed, fix=fix)

    return BeforeValidator(check)


def _policy(value: object) -> object:
    if isinstance(value, bool):
        intended = "keep" if value else "disable"
        raise Complaint(
            "",
            message="`hma: {written}` is a boolean in YAML, not a policy",
            fix=f"write `hma: {intended}`, or `hma: auto` to let hmactl decide",
        )
    return value


def _model(value: object) -> object:
    if isinstance(value, str) and value.startswith("-"):
        raise Complaint(
            "a model's name or directory",
            consequence="vLLM would take it for an option",
            fix="write a name such as `google/gemma-3-4b-it`, or a directory such as `./my-model`",
        )
    return value


def _version(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Complaint(
            "",
            message="the version `{written}` is a number in YAML, and a number loses final zeros",
            consequence="`0.30` would be compared as `0.3`, which is another version",
            fix='quote it: `{key}: "{written}"`',
        )
    try:
        Version(value if isinstance(value, str) else "")
    except InvalidVersion:
        raise Complaint(
            'a version in quotes, such as `"0.32.0"`', fix='write for example `{key}: "0.32.0"`'
        ) from None
    return value


def _size(value: object) -> object:
    example = "write for example `{key}: 128 GiB`"
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Complaint("a size such as `128 GiB`, or a whole number of bytes", fix=example)
    try:
        size = parse_size(value)
    except ValueError as error:
        message = f"`{{key}}: {{written}}` is not a size: {error}"
        raise Complaint("", message=message, fix=example) from None
    if size == 0:
        raise Complaint("more than zero bytes", fix=example)
    return size


def _limit(value: object) -> object:
    if value == "unlimited":
        return UNLIMITED
    try:
        return _size(value)
    except Complaint as complaint:
        complaint.fix = "write for example `{key}: 64 KiB`, or `{key}: unlimited`"
        raise


def _count(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise Complaint("a whole number, 1 or more", fix="write for example `{key}: 1`")


def _switch(value: object) -> object:
    if isinstance(value, bool):
        return value
    raise Complaint("`true` or `false`", fix="write `{key}: true` or `{key}: false`")


def _given(fix: str) -> BeforeValidator:
    def check(value: object) -> object:
        if value is None:
            raise Complaint("a value", fix=fix)
        return value

    return BeforeValidator(check)


def _variable_value(value: object) -> object:
    if isinstance(value, str | int | float):
        return value
    if value is None:
        raise Complaint("text", fix='write `{key}: ""` for an empty variable, or remove the line')
    raise Complaint("text or a number", fix='write the text in quotes: `{key}: "..."`')


def _connector_form(value: object) -> str | None:
    if isinstance(value, str):
        return "(name)"
    return "(mapping)" if isinstance(value, dict | ConnectorModel) else None


_SIZE_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([KMGTPEkmgtpe][Ii]?)?[Bb]?\s*$"},
    ]
}
_LIMIT_SCHEMA: dict[str, Any] = {"anyOf": [*_SIZE_SCHEMA["anyOf"], {"const": "unlimited"}]}
_OPTION_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean", "array", "object"]}
_VARIABLE_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean"]}

GIVEN = _given("give it a value, or remove the line")
Text = Annotated[str, Field(min_length=1)]
Role = Literal["kv_both", "kv_producer", "kv_consumer"]
Policy = Literal["auto", "keep", "disable"]
Size = Annotated[int, BeforeValidator(_size), WithJsonSchema(_SIZE_SCHEMA)]
Limit = Annotated[int, BeforeValidator(_limit), WithJsonSchema(_LIMIT_SCHEMA)]
VersionText = Annotated[str, BeforeValidator(_version)]
OptionValue = Annotated[
    Any,
    _given("give it a value (`true` for a flag), or remove the line for the default"),
    WithJsonSchema(_OPTION_SCHEMA),
]
OptionName = Annotated[str, Field(pattern=OPTION_NAME)]
LMCacheKey = Annotated[str, Field(pattern=LMCACHE_KEY)]
VariableName = Annotated[str, Field(pattern=VARIABLE_NAME)]
VariableValue = Annotated[Any, BeforeValidator(_variable_value), WithJsonSchema(_VARIABLE_SCHEMA)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ConnectorModel(_Section):
    """A KV connector: what becomes `--kv-transfer-config`."""

    name: Annotated[Text, _text("name: LMCacheConnectorV1")] = Field(
        description="Class name of the connector (`kv_connector`).",
        examples=["LMCacheConnectorV1", "OffloadingConnector", "NixlConnector"],
    )
    role: Annotated[Role, _one_of(get_args(Role))] = Field(
        default="kv_both",
        description="Whether this server stores KV cache, loads it, or both (`kv_role`).",
    )
    module_path: Annotated[Text | None, _text("module_path: my_package.my_connector")] = Field(
        default=None,
        description="Python module to load the connector from (`kv_connector_module_path`).",
    )
    extra_config: dict[str, Any] = Field(
        default_factory=dict,
        description="The connector's own keys and values (`kv_connector_extra_config`).",
        examples=[{"cpu_bytes_to_use": 68719476736}],
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Further fields of vLLM's KVTransferConfig, by their own names.",
        examples=[{"kv_load_failure_policy": "recompute"}],
        json_schema_extra={"propertyNames": {"not": {"pattern": _NO_FIELD}}},
    )
    children: "list[ConnectorForm]" = Field(
        default_factory=list,
        description="The connectors that a MultiConnector combines, in order of preference. "
        "None of them inherits anything from this one.",
    )


ConnectorForm = Annotated[
    Annotated[Text, _text("connector: LMCacheConnectorV1"), Tag("(name)")]
    | Annotated[ConnectorModel, Tag("(mapping)")],
    Discriminator(_connector_form),
]


class LMCacheServerModel(BaseModel):
    """The LMCache server; all further keys are long options of `lmcache server`, without dashes."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        defer_build=True,
        json_schema_extra={"propertyNames": {"pattern": OPTION_NAME}},
    )
    __pydantic_extra__: dict[str, OptionValue]

    start: Annotated[bool, BeforeValidator(_switch)] = Field(
        default=False,
        description="true: hmactl starts the server beside vLLM. false: it is expected to run.",
    )


class TargetModel(_Section):
    """Where the deployment will run, for planning without that machine."""

    gpu: Annotated[Text | None, _text("gpu: H100-80GB")] = Field(
        default=None,
        description="The GPU's name in hmactl's catalogue, or `cpu`.",
        examples=["H100-80GB", "L40S"],
    )
    gpus: Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_count)] = Field(
        default=None, description="Number of GPUs in the machine."
    )
    host_memory: Annotated[Size | None, GIVEN] = Field(
        default=None,
        description="Host memory that the deployment may use: bytes, or a number with a unit.",
        examples=["128 GiB"],
    )
    memory_limit: Annotated[Size | None, GIVEN] = Field(
        default=None,
        description="Memory limit of the container: bytes, or a number with a unit.",
        examples=["120Gi"],
    )
    shm: Annotated[Size | None, GIVEN] = Field(
        default=None,
        description="Size of /dev/shm where the LMCache server and vLLM run.",
        examples=["16 GiB"],
    )
    disk: Annotated[Size | None, GIVEN] = Field(
        default=None,
        description="Space for LMCache's disk directory: of its filesystem, or the ephemeral "
        "storage that the container may use.",
        examples=["2 TiB"],
    )
    memlock: Annotated[Limit | None, GIVEN] = Field(
        default=None,
        description="Memory that a process may lock (ulimit -l), in bytes or with a unit, or "
        "`unlimited`.",
        examples=["64 KiB", "unlimited"],
    )
    kv_cache_memory: Annotated[Size | None, GIVEN] = Field(
        default=None,
        description="KV cache memory per GPU to plan for: bytes, or a number with a unit.",
        examples=["40 GiB"],
    )
    vllm: Annotated[VersionText | None, GIVEN] = Field(
        default=None,
        description="vLLM version to check against where no vLLM is installed; in quotes.",
        examples=["0.32.0"],
    )
    lmcache: Annotated[VersionText | None, GIVEN] = Field(
        default=None,
        description="LMCache version to check against where no LMCache is installed; in quotes.",
        examples=["0.5.6"],
    )
    lmcache_server_version: Annotated[VersionText | None, GIVEN] = Field(
        default=None,
        description="LMCache version of the LMCache server, where it is known; in quotes.",
        examples=["0.5.6"],
    )


class ProfileModel(_Section):
    """One deployment: a `vllm serve` process with its companions."""

    name: Annotated[Text | None, _text("name: chat")] = Field(
        default=None, description="Name of the deployment; the file's name if not given."
    )
    model: Annotated[Text, BeforeValidator(_model), _text("model: google/gemma-3-4b-it")] = Field(
        description="Model to serve: a Hugging Face name or a directory.",
        examples=["google/gemma-3-4b-it"],
    )
    vllm: dict[OptionName, OptionValue] = Field(
        default_factory=dict,
        description="Long options of `vllm serve` without dashes in front, such as "
        "`max-model-len` or `max_model_len`, in vLLM's own units.",
        json_schema_extra={"propertyNames": {"not": {"pattern": _NO_OPTION}}},
    )
    connector: Annotated[ConnectorForm | None, GIVEN] = Field(
        default=None, description="The KV connector: its name, or a mapping."
    )
    hma: Annotated[Policy, _one_of(get_args(Policy)), BeforeValidator(_policy)] = Field(
        default="auto",
        description="The hybrid KV cache manager. auto: keep it where the connector can, else "
        "disable it where the model can, else refuse. keep: never disable. disable: always.",
    )
    lmcache: dict[LMCacheKey, Any] = Field(
        default_factory=dict,
        description="Keys of LMCache's own configuration, in LMCache's units (sizes in GB).",
    )
    lmcache_server: Annotated[LMCacheServerModel | None, GIVEN] = Field(
        default=None, description="The LMCache server that LMCacheMPConnector talks to."
    )
    env: dict[VariableName, VariableValue] = Field(
        default_factory=dict, description="Environment variables that are added for the server."
    )
    target: TargetModel = Field(
        default_factory=TargetModel, description="Where it will run, and which versions."
    )


def profile_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a profile document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hmactl profile",
        **_as_written(ProfileModel.model_json_schema()),
    }


def _as_written(schema: Any) -> Any:
    """A schema of what stands in a file: None only says here that a key is absent, and titles that
    repeat the key are noise in an editor."""
    if isinstance(schema, list):
        return [_as_written(part) for part in schema if part != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    tidy = {
        key: _as_written(part)
        for key, part in schema.items()
        if key != "title" and not (key == "default" and part is None)
    }
    if len(tidy.get("anyOf", ())) == 1:
        tidy |= tidy.pop("anyOf")[0]
    if "patternProperties" in tidy:
        tidy["additionalProperties"] = False
    return tidy
