"""LMCache's effective settings without an LMCache, held to LMCache's own loader on many inputs.

The installed release is always asked. HMACTL_TEST_LMCACHES names further ones, as directories
(colon separated) that hold one each: `pip install --no-deps --target DIR lmcache==0.4.7`.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.lmcache_config import lmcache_configs
from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import DEFAULT
from hmactl.engine.answer import LMCacheSettings
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.decode import decode
from hmactl.engine.find import Engine
from hmactl.facts.lmcache_offline import Written, lmcache_settings
from hmactl.sources.lmcache_file import read_lmcache_file

pytestmark = pytest.mark.engine

LOADER = Path(__file__).parent / "lmcache_loader.py"
DRY_BOOT = Path(__file__).parents[2] / "hmactl" / "engine"
OTHERS = [path for path in os.environ.get("HMACTL_TEST_LMCACHES", "").split(":") if path]
INSTANCE_ID = "lmcache_instance_id"


@dataclass(frozen=True)
class Row:
    """What a deployment says. ``extra`` is its connector's, ``names`` keys as in a profile."""

    environment: dict[str, str] = field(default_factory=dict)
    file: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    connector: str = "LMCacheConnectorV1"


# One of each kind of converter, and those that releases read differently.
KEYS = (
    *("chunk_size", "local_cpu", "max_local_cpu_size", "local_disk", "remote_url", "extra_config"),
    *("lmcache_worker_ports", "storage_plugins", "runtime_plugin_locations", "retrieve_locations"),
    *("blend_thresholds", "hidden_states_retrieve_mode", "pre_caching_hash_algorithm"),
    *("pd_allocation_timeout_sec", "nixl_backends", "lookup_timeout_ms"),
)
TEXTS = (
    *("yes", "on", "0", "1", "true", " True ", "TRUE", "False", "no", "t"),
    *("5GB", "256.0", "256", " 256 ", "", "  ", "-1", "1e3", "0x10", "1_000", "inf", "5.5"),
    *("'256'", '"256"', "'a", '"it\'s"', "''", "'\\n'", "'a' 'b'", "None", "null"),
    *("1,2,3", "[1, 2]", "a,b", "a, ,b,", "1,x", "0.5,1", "file:///d/", "file:///d", "/d"),
    *("file:///a/,file:///b/", "lm://h:1", "h:1", '{"a": 1}', "{'a': True}", "{}", "[1]"),
    *("skip-missing-chunks", "legacy", "prefix_strict", "sha256_cbor_64bit"),
)
IN_FILE = (
    *("yes", "on", "0", "1", "true", "True", "'true'", "no", "off", "y"),
    *("5GB", "256.0", "256", "'256'", "''", "null", "~", "-1", "1e3", "1.0e3", "0x10", "1_000"),
    *("5.5", "0o17", "017", "'''a'''", "[1, 2]", "[a, b]", "[]", "[1, x]"),
    *("'1,2'", "a,b", "[[1]]", "{a: 1}", "{}", "'{\"a\": 1}'", "[0.5, 1]", "file:///d/", "/d"),
    *(
        "file:///a/,file:///b/",
        "lm://h:1",
        "h:1",
        "'file:///d/'",
        "legacy",
        "'Skip-Missing-Chunks'",
    ),
)
IN_CONNECTOR: tuple[Any, ...] = (
    *(True, False, "yes", "true", "0", 0, 1, 5, -1, 5.5, 256.0, "5GB", "256", "", None),
    *([1, 2], ["a"], [], [1, "x"], {"a": 1}, {}, '{"a": 1}', "{'a': 1}", "a,b", "1,2"),
    *("file:///d/", "/d", "lm://h:1", "legacy", "'256'"),
)
P2P = {
    "LMCACHE_ENABLE_CONTROLLER": "true",
    "LMCACHE_CONTROLLER_PULL_URL": "c:1",
    "LMCACHE_CONTROLLER_REPLY_URL": "c:2",
    "LMCACHE_LMCACHE_WORKER_PORTS": "8500",
    "LMCACHE_LMCACHE_INSTANCE_ID": "i",
    "LMCACHE_ENABLE_P2P": "true",
    "LMCACHE_P2P_HOST": "h",
    "LMCACHE_P2P_INIT_PORTS": "1",
    "LMCACHE_P2P_LOOKUP_PORTS": "2",
    "LMCACHE_TRANSFER_CHANNEL": "nixl",
}
PD = {
    "LMCACHE_ENABLE_PD": "true",
    "LMCACHE_PD_ROLE": "receiver",
    "LMCACHE_PD_BUFFER_SIZE": "1024",
    "LMCACHE_PD_BUFFER_DEVICE": "cpu",
}
NIXL = {
    "LMCACHE_EXTRA_CONFIG": '{"enable_nixl_storage": true, "nixl_backend": "POSIX", '
    '"nixl_path": "/n", "nixl_pool_size": 4, "nixl_file_pool_size": 4}',
    "LMCACHE_NIXL_BUFFER_SIZE": "1024",
    "LMCACHE_NIXL_BUFFER_DEVICE": "cuda",
}
HUGE = '{"enable_nixl_storage": 1, "nixl_backend": "P", "nixl_pool_size": 4, "nixl_use_hugepages": '


def _as_file(environment: dict[str, str]) -> str:
    """The same settings as LMCache's file has them."""
    lines = []
    for name, text in environment.items():
        value = text if text.startswith("{") or text.isdigit() or text == "true" else repr(text)
        lines.append(f"{name.removeprefix('LMCACHE_').lower()}: {value}\n")
    return "".join(lines)


def _values() -> dict[str, Row]:
    rows = {"nothing": Row(), "empty-file": Row(file=""), "comment": Row(file="# nothing\n")}
    for key in KEYS:
        variable = f"LMCACHE_{key.upper()}"
        for text in TEXTS:
            rows[f"variable {key}={text!r}"] = Row({variable: text})
        for text in IN_FILE:
            rows[f"file {key}: {text}"] = Row(file=f"{key}: {text}\n")
        for value in IN_CONNECTOR:
            rows[f"connector {key}: {value!r}"] = Row(extra={f"lmcache.{key}": value})
        for text, other in (("128", "64"), ("5k", "64"), ("yes", "true"), ("'[1]'", "2")):
            rows[f"both {key}: {text}, {other}"] = Row({variable: other}, f"{key}: {text}\n")
            rows[f"both {key}: {other}, {text}"] = Row({variable: text}, f"{key}: {other}\n")
        rows[f"all {key}"] = Row({variable: "3"}, f"{key}: 4\n", {f"lmcache.{key}": 5})
    return rows


def _checks() -> dict[str, Row]:
    rows = {}
    for name, settings in (("p2p", P2P), ("pd", PD), ("nixl", NIXL)):
        rows[name] = Row(settings)
        rows[f"{name} file"] = Row(file=_as_file(settings))
        for left_out in settings:
            rest = {k: v for k, v in settings.items() if k != left_out}
            rows[f"{name} without {left_out}"] = Row(rest)
            rows[f"{name} file without {left_out}"] = Row(file=_as_file(rest))
    checks: dict[str, dict[str, str]] = {
        "pd-and-p2p": PD | P2P,
        "pd-mode": PD | {"LMCACHE_PD_BACKEND_MODE": "fast"},
        "pd-store": PD | {"LMCACHE_STORE_LOCATION": "PDBackend"},
        "pd-retrieve": PD | {"LMCACHE_RETRIEVE_LOCATIONS": "PDBackend"},
        "pd-retrieve-others": PD | {"LMCACHE_RETRIEVE_LOCATIONS": "PDBackend,LocalCPUBackend"},
        "pd-remote": PD | {"LMCACHE_REMOTE_URL": "lm://h:1"},
        "blending": {"LMCACHE_ENABLE_BLENDING": "1", "LMCACHE_SAVE_UNFULL_CHUNK": "0"},
        "async": {"LMCACHE_ENABLE_ASYNC_LOADING": "1", "LMCACHE_SAVE_UNFULL_CHUNK": "1"},
        "layerwise": {"LMCACHE_USE_LAYERWISE": "1", "LMCACHE_SAVE_UNFULL_CHUNK": "1"},
        "few-tokens": {"LMCACHE_MIN_RETRIEVE_TOKENS": "-1"},
        "no-tokens": {"LMCACHE_MIN_RETRIEVE_TOKENS": "5k"},
        "nixl-cpu": NIXL | {"LMCACHE_NIXL_BUFFER_DEVICE": "cpu"},
        "nixl-cpu-nothing": {
            "LMCACHE_EXTRA_CONFIG": NIXL["LMCACHE_EXTRA_CONFIG"],
            "LMCACHE_NIXL_BUFFER_DEVICE": "cpu",
            "LMCACHE_MAX_LOCAL_CPU_SIZE": "0",
        },
        "nixl-huge": NIXL | {"LMCACHE_EXTRA_CONFIG": HUGE + "true}"},
        "nixl-huge-cpu": {
            "LMCACHE_EXTRA_CONFIG": HUGE + "true}",
            "LMCACHE_NIXL_BUFFER_DEVICE": "cpu",
        },
        "nixl-huge-conflict": {
            "LMCACHE_EXTRA_CONFIG": HUGE + "true}",
            "LMCACHE_NIXL_BUFFER_DEVICE": "cpu",
            "LMCACHE_LOCAL_CPU_USE_HUGEPAGES": "false",
        },
        "presence": NIXL
        | {
            "LMCACHE_EXTRA_CONFIG": NIXL["LMCACHE_EXTRA_CONFIG"][:-1]
            + ', "nixl_presence_cache_only": true}'
        },
    }
    for name, environment in checks.items():
        rows[f"check {name}"] = Row(environment)
        rows[f"check {name} file"] = Row(file=_as_file(environment))
        rows[f"check {name} both"] = Row(environment, file="chunk_size: 64\n")
    return rows


def _names() -> dict[str, Row]:
    rows = {}
    for name in ("plugin_locations", "external_backends", "nixl_peer_port", "nixl_role"):
        variable = f"LMCACHE_{name.upper()}"
        rows[f"old variable {name}"] = Row({variable: "1"}, names=(variable,))
        rows[f"old key {name}"] = Row(file=f"{name}: '1'\n", names=(name,))
    rows["old-and-new"] = Row(
        {"LMCACHE_PLUGIN_LOCATIONS": "/o", "LMCACHE_RUNTIME_PLUGIN_LOCATIONS": "/n"}
    )
    rows["old-behind-new"] = Row(file="runtime_plugin_locations: /n\nplugin_locations: /o\n")
    rows["new-behind-old"] = Row(file="plugin_locations: /o\nruntime_plugin_locations: /n\n")
    names = {
        "typo": ("chunk_sise", "LMCACHE_CHUNKSIZE", "LMCACHE_LMCACHE_CHUNK_SIZE"),
        "fine": ("chunk_size", "LMCACHE_CHUNK_SIZE", "LMCACHE_LMCACHE_INSTANCE_ID"),
        "prefix": ("LM_CACHE_CHUNK_SIZE", "LMCACHE_EC_CHUNK_SIZE", "ec_chunk_size"),
        "others": ("LMCACHE_LOG_LEVEL", "LMCACHE_CONFIG_FILE", "LMCACHE_USE_EXPERIMENTAL"),
        "old": ("LMCACHE_NIXL_ROLE", "nixl_role", "LMCACHE_CONTROLLER_URL", "plugin_locations"),
        "of-vllm": ("LMCACHE_USE_UPSTREAM_MP", "LMCACHE_FORCE_SKIP_SAVE"),
    }
    for name, written in names.items():
        rows[f"names {name}"] = Row(names=written)
    for algorithm in ("builtin", "sha256", "sha256_cbor", "sha256_cbor_64bit", "xxhash", "md5", ""):
        for seed in ({}, {"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "random"}):
            environment = {"LMCACHE_PRE_CACHING_HASH_ALGORITHM": algorithm} | seed
            rows[f"hash {algorithm} {seed}"] = Row(environment)
    rows["hash forked"] = Row({"VLLM_WORKER_MULTIPROC_METHOD": "fork"})
    rows["file-names"] = Row(
        file="chunksize: 1\nLMCACHE_CHUNK_SIZE: 2\nec: {a: 1}\nweka_path: /w\n"
    )
    for connector in ("LMCacheConnectorV1", "LMCacheMPConnector"):
        extra = {
            f"lmcache.{key}": 1
            for key in (
                "chunk_size",
                "chunksize",
                "skip_save",
                "mp.port",
                "mp.hots",
                "mp.mq_timeout",
            )
        }
        rows[f"extra of {connector}"] = Row(extra=extra, connector=connector)
    return rows


ROWS = _values() | _checks() | _names()


def _ours(row: Row, version: str, vllm: str | None = None) -> LMCacheSettings:
    file = None
    environment = dict(row.environment)
    if row.file is not None:
        file = read_lmcache_file("f", DEFAULT, row.file)
        environment["LMCACHE_CONFIG_FILE"] = "f"
    connector = Connector(row.connector, DEFAULT, extra_config=row.extra)
    settings = lmcache_settings(Written(environment, row.names, file, connector), version, vllm)
    assert settings is not None
    return settings


def _ask(
    engine: Engine, directory: Path, rows: dict[str, Row], more: str | None, *, dry_boot: bool
) -> dict[str, Any]:
    cases = []
    for name, row in rows.items():
        config = {"kv_connector": row.connector, "kv_connector_extra_config": row.extra}
        flag = {"name": "kv-transfer-config", "arguments": [json.dumps(config)]}
        file = None
        if row.file is not None:
            read = read_lmcache_file("f", DEFAULT, row.file)
            keys = [setting.name for setting in read.settings]
            file = {"path": "f", "text": None, "keys": keys}
        request = {
            "flags": [flag],
            "lmcache_keys": list(row.names),
            "lmcache_file": file,
            "lmcache_server": None,
        }
        cases.append(
            {
                "name": name,
                "environment": row.environment,
                "file": row.file,
                "extra": row.extra if row.connector == "LMCacheConnectorV1" else {},
                "request": request if dry_boot else None,
            }
        )
    answer = directory / "answer.json"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "LMCACHE_TRACK_USAGE": "false"}
    environment |= bridge_environment(engine, environment)
    if more is not None:
        environment["PYTHONPATH"] = os.pathsep.join([more, environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [str(engine.python), str(LOADER), str(answer), str(DRY_BOOT)],
        input=json.dumps(cases),
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    return said


def _same_as_the_loader(said: dict[str, Any]) -> list[str]:
    """Where we say something else than LMCache's own loader."""
    wrong = []
    for name, real in said["answers"].items():
        row = ROWS[name]
        ours = _ours(row, said["version"], "f")
        # Where a value that could not be read breaks a check, that value was said already.
        said_before = str(real["refusal"]).startswith("TypeError") and bool(ours.unreadable)
        if (real["refusal"] is None) is not (ours.refusal is None) and not said_before:
            wrong.append(f"{name}: refused {real['refusal']!r}, ours {ours.refusal!r}")
        if real["refusal"] is not None:
            continue
        theirs, values = real["values"], dict(ours.values)
        if not row.environment.get(f"LMCACHE_{INSTANCE_ID.upper()}"):
            theirs = theirs | {INSTANCE_ID: None}
            values |= {INSTANCE_ID: None}
        differ = {k: (v, values.get(k, "(none)")) for k, v in theirs.items() if values.get(k) != v}
        if differ or theirs.keys() != values.keys():
            wrong.append(f"{name}: LMCache's and ours: {differ}")
        if row.connector == "LMCacheConnectorV1":
            dropped = [n for n in ours.unreadable if n.startswith("lmcache.")]
            if dropped != real["dropped"]:
                wrong.append(f"{name}: dropped {real['dropped']}, ours {dropped}")
    return wrong


def test_the_installed_release(engine: Engine, tmp_path: Path) -> None:
    # All of them when releases are compared; a fourth is enough to notice a change.
    rows = dict([*ROWS.items()][:: 1 if OTHERS else 4])
    said = _ask(engine, tmp_path, rows, None, dry_boot=False)
    assert len(said["answers"]) > 500
    assert _same_as_the_loader(said) == []


@pytest.mark.parametrize("directory", [None, *OTHERS])
def test_the_dry_boot(engine: Engine, tmp_path: Path, directory: str | None) -> None:
    """The same of the dry boot, which has more to say, and of fewer rows, which take it longer."""
    assert engine.vllm is not None
    few = ("names", "hash", "old", "extra", "file-", "check", "all", "nothing")
    rows = {name: row for name, row in ROWS.items() if name.startswith(few)}
    rows |= dict([*ROWS.items()][:: 25 if OTHERS else 100])
    said = _ask(engine, tmp_path, rows, directory, dry_boot=True)
    # The dry boot says of older releases what newer ones do.
    by_name = lmcache_configs(said["version"])[0].loading.hashes_by_name
    wrong = []
    for name, row in rows.items():
        boot = decode(LMCacheSettings, said["answers"][name]["dry_boot"])
        ours = _ours(row, said["version"], engine.vllm.version)
        for one in ("defaults", "old_names", "unknown", "unknown_in_file", "unreadable"):
            theirs, mine = getattr(boot, one), getattr(ours, one)
            if theirs != mine:
                wrong.append(f"{name}: {one}: the dry boot's {theirs}, ours {mine}")
        theirs = {k: v for k, v in boot.values.items() if ours.values.get(k, INSTANCE_ID) != v}
        if boot.refusal is None and theirs.keys() - {INSTANCE_ID}:
            wrong.append(f"{name}: values: the dry boot's {theirs}")
        hashed = [(s.hashes_differ, s.hash_loads) for s in (boot, ours)]
        if boot.refusal is None and by_name and hashed[0] != hashed[1]:
            wrong.append(f"{name}: hashes: the dry boot's and ours: {hashed}")
        if (boot.refusal is None) is not (ours.refusal is None):
            wrong.append(f"{name}: refusal: {boot.refusal!r}, ours {ours.refusal!r}")
    assert wrong == [], said["version"]


@pytest.mark.parametrize("directory", OTHERS)
def test_another_release(engine: Engine, tmp_path: Path, directory: str) -> None:
    said = _ask(engine, tmp_path, ROWS, directory, dry_boot=False)
    assert _same_as_the_loader(said) == [], said["version"]
