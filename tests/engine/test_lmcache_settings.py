"""The rules about LMCache's settings, and LMCache's own code on the same settings.

The settings are read by the installed LMCache's loader. Where a judge is named, LMCache's own code
was given them: it has to object where the rule does, and not in the case beside it.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest
from installed import VERSIONS

from hmactl.deployment.command import lmcache_server_arguments, serve_environment, serve_flags
from hmactl.deployment.deployment import Deployment
from hmactl.engine.answer import (
    Answer,
    ConnectorAnswer,
    EngineConfig,
    LayerKind,
    LMCacheSettings,
)
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.decode import decode
from hmactl.engine.find import Engine
from hmactl.facts.facts import Facts
from hmactl.finding import Finding
from hmactl.rules.case import Case
from hmactl.rules.catalogue import all_rules
from hmactl.sources.lmcache_file import read_lmcache_file
from hmactl.sources.profile import read_profiles
from hmactl.verdict.verdict import Decision, Verdict

pytestmark = pytest.mark.engine

V1 = "connector: LMCacheConnectorV1\n"
MP = "connector: {{name: LMCacheMPConnector, extra_config: {{{}}}}}\n"
SERVER = "lmcache_server: {{l1-size-gb: 20, eviction-policy: LRU, {}}}\n"
HEAD_SIZE = 64
HEAD = 'model: m\nenv: {{PYTHONHASHSEED: "0"{}}}\n'


@dataclass(frozen=True)
class Row:
    """``more`` are further variables, ``file`` LMCache's own, ``found`` a part of each message."""

    text: str
    found: dict[str, str] = field(default_factory=dict)
    judge: str | None = None
    more: str = ""
    file: str | None = None
    ranks: int = 1
    mla: bool = False
    cache_dtype: str = "auto"
    prefix_caching: bool = True
    heads: int = 2


def lmcache(text: str, **more: Any) -> Row:
    """A deployment with these settings in the vLLM process."""
    return Row(f"{V1}lmcache: {{{text}}}\n", **more)


PD = "enable_pd: true, pd_buffer_size: 1024, pd_buffer_device: cpu, "
P2P = (
    "enable_p2p: true, enable_controller: true, controller_pull_url: 'c:1', lmcache_worker_ports: "
    "[8500], controller_reply_url: 'c:2', p2p_host: h, p2p_init_ports: [1], p2p_lookup_ports: [2], "
    "transfer_channel: nixl, "
)
ROWS: dict[str, Row] = {
    # Names, in the file too.
    "file-fine": Row(V1, file="chunk_size: 128\nlocal_cpu: true\n"),
    "file-variable-as-key": Row(
        V1, {"LMC001": "`LMCACHE_REMOTE_URL`"}, file="LMCACHE_REMOTE_URL: 'lm://c:1'\n"
    ),
    "file-misspelt": Row(V1, {"LMC001": "`chunksize`"}, file="chunksize: 128\n"),
    "file-dead-alias": Row(V1, {"LMC001": "`nixl_role`"}, file="nixl_role: sender\n"),
    "file-live-alias": Row(V1, file="plugin_locations: [/plugins]\n"),
    "file-encoder-cache": Row(V1, file="ec_local_cpu: true\nec: {chunk_size: 64}\n"),
    "file-of-another-version": Row(V1, {"LMC001": "`weka_path`"}, file="weka_path: /w\n"),
    "doubled-prefix-that-is-right": Row(V1, more=", LMCACHE_LMCACHE_INSTANCE_ID: a"),
    "former-lookup-url": Row(
        V1, {"LMC006": "LMCACHE_LOOKUP_URL"}, more=", LMCACHE_LOOKUP_URL: 'a:1'"
    ),
    "wrong-size-variable": Row(
        V1,
        {"LMC005": "LMCACHE_LOCAL_DISK_SIZE", "LMC013": "disk"},
        more=", LMCACHE_LOCAL_DISK_SIZE: '5', LMCACHE_LOCAL_DISK: /d",
    ),
    "mp-key-of-the-process": Row(
        MP.format("lmcache.chunk_size: 64"), {"LMS002": "`lmcache.chunk_size`"}
    ),
    "mp-key-in-process": Row(
        "connector: {name: LMCacheConnectorV1, extra_config: {lmcache.mp.port: 1}}\n",
        {"LMC007": "`lmcache.mp.port`"},
    ),
    # Values.
    "float-as-int": lmcache("", more=", LMCACHE_CHUNK_SIZE: '256.0'", found={"LMC002": "256.0"}),
    "float-as-int-fine": lmcache("", more=", LMCACHE_CHUNK_SIZE: '256'"),
    "size-with-unit": lmcache(
        "", more=", LMCACHE_MAX_LOCAL_CPU_SIZE: 5GB", found={"LMC002": "5GB"}
    ),
    "python-literal": lmcache(
        "",
        more=", LMCACHE_EXTRA_CONFIG: \"{'use_odirect': True}\"",
        found={"LMC002": "use_odirect"},
    ),
    "json": lmcache("", more=", LMCACHE_EXTRA_CONFIG: '{\"use_odirect\": true}'"),
    "empty-number": lmcache("", more=", LMCACHE_CHUNK_SIZE: ''", found={"LMC002": "LMCACHE_CHUNK"}),
    "unreadable-over-file": Row(
        V1,
        {"LMC002": "uses 128 instead"},
        more=", LMCACHE_CHUNK_SIZE: 5k",
        file="chunk_size: 128\n",
    ),
    "unreadable-in-file": Row(V1, {"LMC002": "5k"}, file="chunk_size: 5k\n"),
    "unreadable-in-connector": Row(
        "connector: {name: LMCacheConnectorV1, extra_config: {lmcache.chunk_size: 5k}}\n",
        {"LMC002": "uses 256 instead"},
    ),
    "quoted-once": lmcache("", more=""", LMCACHE_REMOTE_URL: "'lm://c:1'" """),
    "quoted-twice": lmcache(
        "",
        more=""", LMCACHE_LOCAL_DISK: "\\"'/d'\\"", LMCACHE_MAX_LOCAL_DISK_SIZE: '5'""",
        found={"LMC020": "'/d'"},
    ),
    "quoted-in-file": Row(
        V1,
        {"LMC020": "'lm://c:1'", "LMC022": "No adapter"},
        "remote",
        file="remote_url: \"'lm://c:1'\"\n",
    ),
    "says-yes-in-file": Row(
        V1, {"LMC008": "`use_layerwise: yes please`"}, file="use_layerwise: yes please\n"
    ),
    "false-text": lmcache(
        "", more=", LMCACHE_FORCE_SKIP_SAVE: '0'", found={"LMC037": "LMCACHE_FORCE_SKIP_SAVE: 0"}
    ),
    "no-false-text": lmcache("", more=", LMCACHE_FORCE_SKIP_SAVE: ''"),
    "false-text-of-the-connector": Row(
        "connector: {name: LMCacheConnectorV1, extra_config: {discard_partial_chunks: 'false'}}\n",
        {"LMC037": "discard_partial_chunks"},
    ),
    "false-of-the-connector": Row(
        "connector: {name: LMCacheConnectorV1, extra_config: {discard_partial_chunks: false}}\n"
    ),
    "none-as-text": lmcache(
        "", more=", LMCACHE_REMOTE_URL: None", judge="remote", found={"LMC021": "REMOTE_URL: None"}
    ),
    "empty-address": lmcache(
        "", more=", LMCACHE_REMOTE_URL: ''", judge="remote", found={"LMC021": "is a text"}
    ),
    "null": lmcache("remote_url: null", judge="remote"),
    # Remote stores.
    "lm": lmcache("remote_url: 'lm://c:65432'"),
    "lm-without-port": lmcache(
        "remote_url: 'lm://c'", judge="remote", found={"LMC022": "missing port"}
    ),
    "no-scheme": lmcache(
        "remote_url: 'c:65432'", judge="remote", found={"LMC022": "No adapter found"}
    ),
    "unknown-scheme": lmcache(
        "remote_url: 'http://c:80'", judge="remote", found={"LMC022": "No adapter found"}
    ),
    "redis": lmcache("remote_url: 'redis://c:6379'"),
    "redis-socket": lmcache("remote_url: 'unix:///run/redis.sock'"),
    "fs-without-host": lmcache(
        "remote_url: 'fs:///cache'", judge="remote", found={"LMC022": "missing host"}
    ),
    "fs": lmcache("remote_url: 'fs://h:1/tmp'", judge="remote"),
    "plugin": lmcache("remote_storage_plugins: [redis]"),
    "unknown-plugin": lmcache(
        "remote_storage_plugins: [nowhere]", judge="remote", found={"LMC022": "plugin://nowhere"}
    ),
    "placeholder": lmcache(
        "remote_url: 'lm://${CACHE_HOST}:65432'", found={"LMC038": "${CACHE_HOST}"}
    ),
    "placeholder-of-a-guide": lmcache(
        "remote_url: 'lm://<your-host>:65432'", found={"LMC038": "<your-host>"}
    ),
    "placeholder-in-the-connector": Row(
        "connector: {name: LMCacheMPConnector, options: {engine_id: $ENGINE_ID}}\n",
        {"LMC038": "$ENGINE_ID"},
    ),
    "whole-chunks": lmcache(
        "remote_url: 'resp://c:6379', save_unfull_chunk: true, "
        "extra_config: {save_chunk_meta: false}",
        judge="remote",
        found={"LMC031": "save_unfull_chunk: false"},
    ),
    "chunk-meta": lmcache(
        "remote_url: 's3://b.s3.eu.amazonaws.com', extra_config: {s3_region: eu, "
        "save_chunk_meta: true}",
        judge="remote",
        found={"LMC031": "save_chunk_meta"},
    ),
    "chunk-meta-unsaid": lmcache(
        "remote_url: 's3://b.s3.eu.amazonaws.com', extra_config: {s3_region: eu}", judge="remote"
    ),
    "chunk-meta-off": lmcache(
        "remote_url: 's3://b.s3.eu.amazonaws.com', "
        "extra_config: {s3_region: eu, save_chunk_meta: false}"
    ),
    # The disk.
    "disk": lmcache("local_disk: 'file:///d', max_local_disk_size: 5", judge="sharding"),
    "disk-one-slash": lmcache(
        "local_disk: 'file:/d', max_local_disk_size: 5", found={"LMC023": "`file:/d`"}
    ),
    "disk-true": lmcache("local_disk: 'True', max_local_disk_size: 5", found={"LMC023": "`True`"}),
    "disks": lmcache("local_disk: '/a,file:///b', max_local_disk_size: 5"),
    "disk-here": lmcache("local_disk: './d', max_local_disk_size: 5"),
    "disk-behind-a-buffer": lmcache(
        "local_disk: /d, max_local_disk_size: 5, local_cpu: false", found={"LMC030": "5 GiB"}
    ),
    "size-without-disk": lmcache("max_local_disk_size: 5", found={"LMC027": "local_disk"}),
    "sharding": lmcache(
        "local_disk: /d, max_local_disk_size: 5, local_disk_path_sharding: by_rank",
        judge="sharding",
        found={"LMC024": "by_rank"},
    ),
    # Choices and ranges.
    "policy": lmcache("cache_policy: LRUK", judge="policy", found={"LMC024": "LRUK"}),
    "policy-small": lmcache("cache_policy: lfu", judge="policy"),
    "serde": lmcache(
        "remote_url: 'lm://c:1', remote_serde: torch", judge="serde", found={"LMC024": "torch"}
    ),
    "serde-fine": lmcache("remote_url: 'lm://c:1', remote_serde: naive", judge="serde"),
    "kivi": lmcache(
        "remote_url: 'lm://c:1', remote_serde: kivi", judge="smaller", found={"LMC043": "kivi"}
    ),
    "not-kivi": lmcache("remote_url: 'lm://c:1', remote_serde: cachegen", judge="smaller"),
    "compressed-chunks": lmcache(
        "remote_url: 'resp://c:1', remote_serde: cachegen",
        judge="stored",
        found={"LMC041": "by whole chunks"},
    ),
    "compressed-chunks-in-redis": lmcache(
        "remote_url: 'redis://c:1', remote_serde: cachegen", judge="stored"
    ),
    "whole-chunks-by-resp": lmcache("remote_url: 'resp://c:1'", judge="stored"),
    "compressed-fp8": lmcache(
        "remote_url: 'redis://c:1', remote_serde: cachegen",
        judge="exact",
        cache_dtype="fp8",
        found={"LMC042": "a KV cache of fp8 for numbers"},
    ),
    "compressed": lmcache("remote_url: 'redis://c:1', remote_serde: cachegen", judge="exact"),
    "plain-fp8": lmcache("remote_url: 'redis://c:1'", judge="exact", cache_dtype="fp8"),
    "numa": lmcache("numa_mode: always", judge="numa", found={"LMC024": "always"}),
    "numa-none": lmcache("local_cpu: true", judge="numa"),
    "external-lookup": lmcache(
        "external_lookup_client: 'c:1'", judge="lookup", found={"LMC024": "c:1"}
    ),
    "no-chunk": lmcache("chunk_size: 0", judge="chunks", found={"LMC025": "at least 1"}),
    "a-chunk": lmcache("chunk_size: 16", judge="chunks"),
    "long-chunk": lmcache("chunk_size: 4096", judge="chunks", found={"LMC032": "4,096 tokens"}),
    "long-chunk-unfull": lmcache("chunk_size: 4096, save_unfull_chunk: true", judge="chunks"),
    "port": lmcache(
        PD + "pd_role: sender, pd_proxy_host: h, pd_proxy_port: 70000", found={"LMC025": "70000"}
    ),
    # What belongs together.
    "pd-sender": lmcache(PD + "pd_role: sender, pd_proxy_host: h, pd_proxy_port: 7", judge="pd"),
    "pd-sender-alone": lmcache(
        PD + "pd_role: sender", judge="pd", found={"LMC026": "`pd_proxy_host`, `pd_proxy_port`"}
    ),
    "pd-sender-without-proxy": lmcache(
        PD + "pd_role: sender, pd_backend_mode: sync, pd_skip_proxy_notification: true", judge="pd"
    ),
    "pd-sender-async-skips": lmcache(
        PD + "pd_role: sender, pd_skip_proxy_notification: true",
        judge="pd",
        found={"LMC026": "`pd_proxy_host`"},
    ),
    "pd-receiver": lmcache(
        PD + "pd_role: receiver, pd_peer_host: h, pd_peer_init_port: [1], pd_peer_alloc_port: [2]",
        judge="pd",
    ),
    "pd-receiver-alone": lmcache(
        PD + "pd_role: receiver", judge="pd", found={"LMC026": "`pd_peer_host`"}
    ),
    "pd-both-async": lmcache(
        PD + "pd_role: both, pd_peer_host: h, pd_peer_init_port: [1], pd_peer_alloc_port: [2]",
        judge="pd",
        found={"LMC026": "does not exist"},
    ),
    "pd-role": lmcache(PD + "pd_role: prefill", judge="pd", found={"LMC024": "prefill"}),
    "pd-without-buffer": lmcache(
        "enable_pd: true, pd_role: sender, pd_proxy_host: h, pd_proxy_port: 7",
        found={"LMC014": "pd_buffer_size"},
    ),
    "pd-and-p2p": lmcache(
        PD + P2P + "pd_role: sender, pd_proxy_host: h, pd_proxy_port: 7, "
        "enable_async_loading: true",
        found={"LMC014": "PD only supports"},
    ),
    "p2p-synchronous": lmcache(P2P, judge="p2p", found={"LMC029": "asynchronous look-ups"}),
    "p2p": lmcache(P2P + "enable_async_loading: true"),
    "p2p-without-controller": lmcache(
        "enable_p2p: true, enable_async_loading: true", found={"LMC014": "enable_controller"}
    ),
    "p2p-off": lmcache("p2p_host: h, p2p_init_ports: [1]", found={"LMC027": "enable_p2p"}),
    "controller-alone": lmcache("enable_controller: true", found={"LMC014": "controller_pull_url"}),
    "worker-ports": lmcache(
        "enable_controller: true, controller_pull_url: 'c:1', controller_reply_url: 'c:2', "
        "lmcache_worker_ports: [8500]",
        judge="workers",
        ranks=2,
        found={"LMC040": "1 of the 2 ports"},
    ),
    "worker-ports-mla": lmcache(
        "enable_controller: true, controller_pull_url: 'c:1', controller_reply_url: 'c:2', "
        "lmcache_worker_ports: [8500]",
        ranks=2,
        mla=True,
    ),
    "async-external": lmcache(
        "external_lookup_client: 'mooncakestore://c:1', enable_async_loading: true",
        judge="lookup",
        found={"LMC028": "external_lookup_client"},
    ),
    "async-layerwise": lmcache(
        "use_layerwise: true, enable_async_loading: true", found={"LMC028": "use_layerwise"}
    ),
    "async": lmcache("enable_async_loading: true"),
    "mla-cachegen": lmcache(
        "remote_serde: cachegen", mla=True, judge="mla", found={"LMC033": "MLA"}
    ),
    "mla-naive": lmcache("remote_serde: naive", mla=True, judge="mla"),
    "bypass": lmcache("enable_scheduler_bypass_lookup: true", found={"LMC039": "MLA"}),
    "bypass-mla": lmcache("enable_scheduler_bypass_lookup: true", mla=True),
    "hash-algorithm": lmcache(
        "pre_caching_hash_algorithm: sha256_cbro", found={"LMC034": "sha256_cbro"}
    ),
    "hash-algorithm-fine": lmcache("pre_caching_hash_algorithm: sha256_cbor"),
    "hash-algorithm-former": lmcache("pre_caching_hash_algorithm: sha256_cbor_64bit"),
    # The MP server and its connector.
    "server": Row(MP.format("") + SERVER.format("port: 5555")),
    "server-number": Row(
        MP.format("") + "lmcache_server: {l1-size-gb: 20 GB, eviction-policy: LRU}\n",
        {"LMS020": "invalid float value"},
    ),
    "server-choice": Row(
        MP.format("") + "lmcache_server: {l1-size-gb: 20, eviction-policy: LRUU}\n",
        {"LMS020": "invalid choice"},
    ),
    "server-adapter": Row(
        MP.format("") + SERVER.format("l2-adapter: {type: fs, base_path: /c}"),
    ),
    "server-adapter-type": Row(
        MP.format("") + SERVER.format("l2-adapter: {type: fs_nat}"),
        {"LMS020": "unknown adapter type 'fs_nat'"},
    ),
    "server-adapter-json": Row(
        MP.format("") + SERVER.format("l2-adapter: \"{'type': 'fs'}\""),
        {"LMS020": "Invalid JSON"},
    ),
    "server-of-the-other-kind": Row(
        V1 + SERVER.format("port: 5555"), {"LMS021": "LMCacheConnectorV1 does not talk"}
    ),
    "fp8-serializer": Row(
        MP.format("")
        + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: turboquant}}"),
        {"LMS024": "turboquant"},
        cache_dtype="fp8_e4m3",
    ),
    "fp8-of-fp8": Row(
        MP.format("") + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: fp8}}"),
        {"LMS024": "serializer fp8"},
        "server_exact",
        cache_dtype="fp8_e4m3",
    ),
    "fp8-of-others": Row(
        MP.format("") + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: fp8}}"),
        judge="server_exact",
    ),
    "turboquant-mla": Row(
        MP.format("")
        + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: turboquant}}"),
        {"LMS027": "it has MLA"},
        "server_layout",
        mla=True,
    ),
    "turboquant-small-heads": Row(
        MP.format("")
        + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: turboquant}}"),
        {"LMS027": "1 x 64 values of a token are no multiple of `head_dim` 128"},
        "server_layout",
        heads=1,
    ),
    "turboquant-head-dim": Row(
        MP.format("")
        + SERVER.format(
            "l2-adapter: {type: fs, base_path: /c, serde: {type: turboquant, head_dim: 64}}"
        ),
        judge="server_layout",
        heads=1,
    ),
    "serializer": Row(
        MP.format("")
        + SERVER.format("l2-adapter: {type: fs, base_path: /c, serde: {type: turboquant}}"),
    ),
    "mp-elsewhere": Row(
        MP.format("lmcache.mp.host: tcp://cache.example.com"), {"LMS022": "another host"}
    ),
    "mp-here": Row(MP.format("lmcache.mp.host: localhost")),
    "mp-service": Row(MP.format("lmcache.mp.host: tcp://127.0.0.1")),
    "mp-boolean": Row(
        MP.format("lmcache.mp.save_decode_cache: 'true'"), {"LMS023": "save_decode_cache"}
    ),
    "mp-boolean-fine": Row(MP.format("lmcache.mp.save_decode_cache: true")),
    "mp-lazy": Row(
        MP.format("lmcache.mp.lazy_offload: true"), {"LMS023": "caching"}, prefix_caching=False
    ),
    "mp-false-text": Row(
        MP.format("lmcache.mp.eager_prefetch: 'false'"), {"LMC037": "eager_prefetch"}
    ),
    "mp-mode": Row(
        MP.format(""),
        {"LMS023": "LMCACHE_MP_TRANSFER_MODE"},
        more=", LMCACHE_MP_TRANSFER_MODE: shm",
    ),
    "mp-mode-fine": Row(MP.format(""), more=", LMCACHE_MP_TRANSFER_MODE: engine_driven"),
    "dead-variable": Row(
        MP.format(""), {"LMC003": "`LMCACHE_CHUNK_SIZE`"}, more=", LMCACHE_CHUNK_SIZE: '64'"
    ),
    "variable-of-the-server-connector": Row(MP.format(""), more=", LMCACHE_LOG_LEVEL: DEBUG"),
}


def deployment_of(name: str, row: Row) -> Deployment:
    more = f"{row.more}, LMCACHE_CONFIG_FILE: /nowhere/l.yaml" if row.file else row.more
    text = HEAD.format(more) + row.text
    (document,) = read_profiles(f"{name}.yaml", text)
    assert document.deployment is not None, document.findings
    return document.deployment


def asked(name: str, row: Row) -> dict[str, Any]:
    """What the dry boot would be asked."""
    deployment = deployment_of(name, row)
    names = [s.name for s in deployment.lmcache]
    names += [s.name for s in deployment.env if s.name.startswith("LMCACHE_")]
    keys = [] if row.file is None else [line.split(":")[0] for line in row.file.splitlines()]
    server = lmcache_server_arguments(deployment)
    return {
        "name": name,
        "environment": serve_environment(deployment),
        "judge": row.judge,
        "cache_dtype": row.cache_dtype,
        "mla": row.mla,
        "values": row.heads * HEAD_SIZE,
        "request": {
            "flags": [{"name": n, "arguments": a} for n, a in serve_flags(deployment)],
            "lmcache_keys": names,
            "lmcache_file": None
            if row.file is None
            else {"path": "/nowhere/l.yaml", "text": row.file, "keys": keys},
            "lmcache_server": None if server is None else list(server),
        },
    }


def case_of(name: str, row: Row, settings: dict[str, Any]) -> Case:
    """The case that hmactl would judge."""
    deployment = deployment_of(name, row)
    assert deployment.connector is not None
    config: dict[str, Any] = dict.fromkeys((f.name for f in fields(EngineConfig)), 0) | {
        "architectures": (),
        "cache_dtype": row.cache_dtype,
        "enable_prefix_caching": row.prefix_caching,
        "max_model_len": 2048,
        "tensor_parallel_size": row.ranks,
        "pipeline_parallel_size": 1,
        "speculative": None,
    }
    spec = "MLAAttentionSpec" if row.mla else "FullAttentionSpec"
    kind = {"spec": spec, "count": 2, "block_size": 16, "page_size_bytes": 4096}
    heads = {"num_kv_heads": row.heads, "head_size": HEAD_SIZE}
    layer = decode(LayerKind, kind | heads | {"first_layer": ""})
    connector = ConnectorAnswer(
        name=deployment.connector.name,
        class_=deployment.connector.name,
        module="m",
        role="kv_both",
        children=(),
        supports_hma=True,
        error=None,
        file=None,
    )
    answer = Answer(
        error=None,
        versions=VERSIONS,
        config=EngineConfig(**config),
        connector=connector,
        layers=((layer,),),
        lmcache=decode(LMCacheSettings, settings),
    )
    file = None
    if row.file is not None:
        at = deployment.model.origin
        file = read_lmcache_file("/nowhere/l.yaml", at, row.file)
    facts = Facts(deployment, answer, None, None, None, file)
    return Case(facts, Verdict(Decision.IRRELEVANT, None, None, ""))


@pytest.fixture(scope="module")
def judged(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What LMCache made of each row, by its name."""
    out = tmp_path_factory.mktemp("judged") / "answers.json"
    here = Path(__file__).parent
    package = here.parent.parent / "hmactl" / "engine"
    done = subprocess.run(
        [str(engine.python), str(here / "lmcache_judge.py"), str(package), str(out)],
        input=json.dumps([asked(name, row) for name, row in ROWS.items()]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **bridge_environment(engine, os.environ)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return answers


def _findings(name: str, judged: dict[str, Any]) -> list[Finding]:
    case = case_of(name, ROWS[name], judged[name]["settings"])
    found = [finding for rule in all_rules() for finding in rule.check(case)]
    return [f for f in found if f.id.startswith("LM")]


@pytest.mark.parametrize("name", ROWS)
def test_findings(name: str, judged: dict[str, Any]) -> None:
    found = _findings(name, judged)
    assert sorted(f.id for f in found) == sorted(ROWS[name].found)
    for finding in found:
        assert ROWS[name].found[finding.id] in finding.message


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.judge])
def test_lmcache_itself_says_the_same(name: str, judged: dict[str, Any]) -> None:
    verdict = judged[name]["verdict"]
    assert (verdict is not None) == bool(ROWS[name].found), verdict
