"""A deployment as a profile, commented with where each setting came from."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.deployment import UNLIMITED, Deployment, Target
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import Json, Origin, Setting, Unknown
from hmactl.report.redact import is_secret_name, redact

_CONFIG_FILE = "LMCACHE_CONFIG_FILE"
_ROLES = frozenset({"kv_both", "kv_producer", "kv_consumer"})
_FIELDS = {
    "kv_connector": "name",
    "kv_role": "role",
    "kv_connector_module_path": "module_path",
    "kv_connector_extra_config": "extra_config",
}
_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


@dataclass(frozen=True, slots=True)
class _Entry:
    key: str
    value: Json
    origin: Origin | None


def profile_form(
    deployments: Sequence[Deployment], lmcache_files: Mapping[str, Sequence[Setting]]
) -> str:
    """Profiles of the deployments, a YAML document for each.

    ``lmcache_files`` has the settings of LMCache's files by their paths, as far as they stand in
    the source itself: they are written out. Secrets are not copied: a comment names them. What is
    not known becomes a comment, too.
    """
    documents = (_document(deployment, lmcache_files) for deployment in deployments)
    return "---\n".join("".join(f"{line}\n" for line in lines) for lines in documents)


def _document(
    deployment: Deployment, lmcache_files: Mapping[str, Sequence[Setting]]
) -> Iterator[str]:
    yield f"# {_plain(deployment.name)}, from {_plain(deployment.source)}"
    if deployment.model.value is None:
        yield "# the model is not known: see below"
    else:
        yield from _lines(_Entry("model", deployment.model.value, deployment.model.origin))
    yield from _lines(_Entry("name", deployment.name, None))
    vllm, connector = _vllm(deployment)
    yield from _section("vllm", [entry for entry in vllm if not _is_secret(entry)])
    yield from _section("connector", connector)
    if deployment.hma is not HmaPolicy.AUTO:
        yield from _lines(_Entry("hma", str(deployment.hma), deployment.hma_origin))
    carried = _carried(deployment, lmcache_files)
    yield from _section("lmcache", (*_entries(deployment.lmcache), *carried))
    server = deployment.lmcache_server
    if server is not None:
        start = _Entry("start", server.start, server.origin)
        yield from _section("lmcache_server", (start, *_entries(server.options)))
    left_out = {_CONFIG_FILE} if carried else set()
    env = [
        _Entry(s.name, _text(s.value), s.origin) for s in deployment.env if s.name not in left_out
    ]
    yield from _section("env", [entry for entry in env if not _is_secret(entry)])
    for entry in (*vllm, *env):
        if _is_secret(entry):
            yield f"# {entry.key} holds a secret and is not copied: set it where the server starts"
    yield from _section("target", _target(deployment.target))
    for unknown in deployment.unknown:
        yield _unknown(unknown)


def _vllm(deployment: Deployment) -> tuple[list[_Entry], list[_Entry]]:
    """The options, each once, and the connector, which has a section of its own."""
    last = {setting.name: setting for setting in deployment.vllm}
    written = last.get(KV_TRANSFER_CONFIG)
    connector: list[_Entry] = []
    if deployment.connector is not None:
        config = deployment.connector.kv_transfer_config()
        connector = _connector(config, deployment.connector.origin)
    elif written is not None:
        connector = _connector(_mapping(written.value), written.origin)
        if connector:
            del last[KV_TRANSFER_CONFIG]
    entries = [_Entry(s.name, _mapping(s.value) or s.value, s.origin) for s in last.values()]
    return entries, connector


def _is_secret(entry: _Entry) -> bool:
    return is_secret_name(entry.key) or redact(_text(entry.value)) != _text(entry.value)


def _connector(config: Json, origin: Origin) -> list[_Entry]:
    """The section for a KVTransferConfig; empty where a profile could not say the same."""
    if not isinstance(config, dict) or config.get("kv_role") not in _ROLES:
        return []
    if not isinstance(config.get("kv_connector"), str):
        return []
    if not isinstance(config.get("kv_connector_module_path", ""), str):
        return []
    if not isinstance(config.get("kv_connector_extra_config", {}), dict):
        return []
    entries = [
        _Entry(key, config[name], origin if name == "kv_connector" else None)
        for name, key in _FIELDS.items()
        if name in config
    ]
    options: dict[str, Json] = {k: v for k, v in config.items() if k not in _FIELDS}
    return [*entries, _Entry("options", options, None)] if options else entries


def _carried(
    deployment: Deployment, lmcache_files: Mapping[str, Sequence[Setting]]
) -> list[_Entry]:
    """LMCache's file, which is only in the source, without what variables replace."""
    named = next((s for s in deployment.env if s.name == _CONFIG_FILE), None)
    if named is None or str(named.value) not in {file.path for file in deployment.files}:
        return []
    variables = {s.name for s in deployment.env} | {
        f"LMCACHE_{s.name.upper()}" for s in deployment.lmcache
    }
    return [
        _Entry(s.name, s.value, s.origin)
        for s in lmcache_files.get(str(named.value), ())
        if f"LMCACHE_{s.name.upper()}" not in variables
    ]


def _target(target: Target) -> list[_Entry]:
    sizes = {
        "host_memory": target.host_memory,
        "memory_limit": target.memory_limit,
        "shm": target.shm,
        "disk": target.disk,
        "memlock": target.memlock,
        "kv_cache_memory": target.kv_cache_memory,
    }
    found: list[tuple[str, Json]] = [("gpu", target.gpu), ("gpus", target.gpus)]
    found += [(name, _size(size)) for name, size in sizes.items()]
    found += [("vllm", target.vllm), ("lmcache", target.lmcache)]
    found += [("lmcache_server_version", target.lmcache_server_version)]
    return [_Entry(key, value, None) for key, value in found if value is not None]


def _size(size: int | None) -> Json:
    if size is None or size == UNLIMITED:
        return None if size is None else "unlimited"
    for unit, factor in _UNITS:
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return size


def _entries(settings: Iterable[Setting]) -> list[_Entry]:
    last = {setting.name: setting for setting in settings}
    return [_Entry(s.name, s.value, s.origin) for s in last.values()]


def _section(name: str, entries: Iterable[_Entry]) -> Iterator[str]:
    found = list(entries)
    if found:
        yield f"{name}:"
        for entry in found:
            yield from (f"  {line}" for line in _lines(entry))


def _lines(entry: _Entry) -> Iterator[str]:
    """A key with its value as YAML; the first line says where it was written."""
    value = entry.value
    if value is None or value in ({}, []):
        text = f"{_scalar(entry.key)}: {json.dumps(value)}"
    else:
        text = yaml.safe_dump({entry.key: value}, sort_keys=False, allow_unicode=True, width=10_000)
    first, *rest = text.rstrip("\n").split("\n")
    if first.endswith(("|", "|-", "|+", ">", ">-", ">+")) or entry.origin is None:
        yield first
    else:
        yield f"{first}  # {_plain(str(entry.origin))}"
    yield from rest


def _scalar(text: str) -> str:
    return yaml.safe_dump(text, width=10_000).removesuffix("...\n").strip()


def _unknown(unknown: Unknown) -> str:
    name = "something" if unknown.name is None else unknown.name
    needs = f"; --set {unknown.needs[0]}=... supplies it" if unknown.needs else ""
    text = "***" if is_secret_name(name) else _plain(unknown.text)
    return f"# not known: {unknown.area} {name}: {text} ({unknown.origin}){needs}"


def _mapping(value: Json) -> Json:
    """A JSON object that was written as text; None for anything else."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]
