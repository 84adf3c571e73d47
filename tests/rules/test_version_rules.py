"""Rules that depend on releases other than the installed ones, over answers as those would give.

What the traits are on which release was asked of vLLM 0.11.1 to 0.33.0; docs/field-reports.md says
what came out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.known_issues import KnownIssue, known_issues
from hmactl.deployment.deployment import Connector, Deployment, LMCacheServer, Target
from hmactl.deployment.setting import DEFAULT, Setting
from hmactl.engine.answer import Answer, Hma, HmaState, Plans
from hmactl.engine.decode import decode
from hmactl.facts.facts import Facts
from hmactl.finding import Finding
from hmactl.rules.case import Case, Rule
from hmactl.rules.con import (
    con007_unknown_field,
    con008_leaving,
    con009_role_without_effect,
    con015_failed_load,
    con016_sleep_mode,
)
from hmactl.rules.hma import (
    hma006_external_hits,
    hma007_block_over_budget,
    hma012_neither_works,
)
from hmactl.rules.lms import lms028_other_release
from hmactl.rules.ver import ver001_known_issue, ver002_untried_pair, ver003_operations
from hmactl.verdict.situation import verdict_of
from hmactl.verdict.verdict import HMA_ON, Decision, Verdict

pytestmark = pytest.mark.usefixtures("rules_in_their_groups")

VERSIONS = {
    "vllm": "0.32.0",
    "vllm_path": "",
    "lmcache": "0.5.6",
    "torch": "2.13.0",
    "transformers": None,
    "python": "3.11.7",
    "python_path": "",
}
CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3NextForCausalLM"],
    "block_size": 272,
    "cache_dtype": "auto",
    "data_parallel_size": 1,
    "dtype": "bfloat16",
    "enable_prefix_caching": True,
    "enforce_eager": False,
    "experts_per_token": None,
    "gpu_memory_utilization": 0.9,
    "hidden_size": 2048,
    "intermediate_size": 512,
    "kv_cache_memory_bytes": None,
    "mamba_cache_mode": "align",
    "max_model_len": 8192,
    "max_num_batched_tokens": 8192,
    "max_num_seqs": 128,
    "multimodal": False,
    "num_gpu_blocks_override": None,
    "pipeline_parallel_size": 1,
    "quantization": None,
    "tensor_parallel_size": 1,
    "vocab_size": 1000,
}
STATES = {"spec": "MambaSpec", "block_size": 272, "page_size_bytes": 1000}
ATTENTION = {"spec": "FullAttentionSpec", "block_size": 272, "page_size_bytes": 1000}


def _case(
    connector: str = "LMCacheMPConnector",
    *,
    versions: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    traits: dict[str, Any] | None = None,
    groups: Sequence[dict[str, Any]] = (STATES, ATTENTION),
    written: Connector | None = None,
    server: dict[str, Any] | None = None,
    server_version: str | None = None,
    lmcache: dict[str, Any] | None = None,
    reports: bool = True,
    role: str = "kv_both",
    module: str | None = None,
) -> Case:
    plan = {"error": None, "groups": [{"layers": 4} | group for group in groups]}
    layer = {"count": 4, "first_layer": "model.layers.0"}
    answer = decode(
        Answer,
        {
            "error": None,
            "versions": VERSIONS | (versions or {}),
            "connectors": [connector, "P2pNcclConnector"],
            "config": CONFIG | (config or {}),
            "connector": {
                "name": connector,
                "role": role,
                "module": module,
                "class": connector,
                "file": None,
                "supports_hma": True,
                "error": None,
                "reports_failed_blocks": reports,
            },
            "layers": [[layer | group for group in groups]],
            "plan": {"hma_on": plan, "hma_off": plan},
            "lmcache": {"values": lmcache or {}, "unknown": {}},
            "traits": traits or {},
        },
    )
    deployment = Deployment(
        source="p.yaml",
        name="p",
        model=Setting("model", "m", DEFAULT),
        connector=written or Connector(connector, DEFAULT, role=role),
        target=Target(lmcache_server_version=server_version),
        lmcache_server=None
        if server is None
        else LMCacheServer(
            DEFAULT, options=tuple(Setting(n, v, DEFAULT) for n, v in server.items())
        ),
    )
    facts = Facts(deployment, answer, None, find_gpu("H100-80GB"), None)
    return Case(facts, Verdict(Decision.KEEP, None, HMA_ON, ""))


def _said(rule: Rule, case: Case) -> list[Finding]:
    return list(rule.check(case))


BUNDLED = "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_mp_connector"
REFUSES = {"refuses_external_mamba_hits": True}
WHOLE = {"requires_whole_mamba_blocks": True}
FIELDS = {"transfer_fields": ["kv_connector", "kv_role", "kv_rank"], "ignores_unknown_fields": True}
POLICY = Connector("NixlConnector", DEFAULT, options={"kv_load_failure_policy": "recompute"})
RANK = Connector("NixlConnector", DEFAULT, options={"kv_rank": 0})
GPU_OPERATIONS = {"module": "lmcache.c_ops", "torch_cuda": "13.0"}
SYMBOL = "c_ops.so: undefined symbol: _ZN3c104cuda9SetDeviceEa"


def _operations(error: str | None) -> dict[str, Any]:
    return {"lmcache_operations": GPU_OPERATIONS | {"error": error}}


# A rule, whether it speaks, and the case.
CASES: dict[str, tuple[Rule, bool, Case]] = {
    "external-hits": (hma006_external_hits, True, _case(traits=REFUSES)),
    "external-hits-newer": (
        hma006_external_hits,
        False,
        _case(traits={"refuses_external_mamba_hits": False}),
    ),
    "external-hits-unknown": (hma006_external_hits, False, _case()),
    "external-hits-no-states": (
        hma006_external_hits,
        False,
        _case(traits=REFUSES, groups=[ATTENTION]),
    ),
    "external-hits-not-aligned": (
        hma006_external_hits,
        False,
        _case(traits=REFUSES, config={"mamba_cache_mode": "none"}),
    ),
    "external-hits-prefill": (
        hma006_external_hits,
        False,
        _case("NixlConnector", traits=REFUSES, role="kv_producer"),
    ),
    "block-over-budget": (
        hma007_block_over_budget,
        True,
        _case(traits=WHOLE, config={"max_num_batched_tokens": 271}),
    ),
    "block-in-budget": (
        hma007_block_over_budget,
        False,
        _case(traits=WHOLE, config={"max_num_batched_tokens": 272}),
    ),
    "block-in-parts": (
        hma007_block_over_budget,
        False,
        _case(
            traits={"requires_whole_mamba_blocks": False},
            config={"max_num_batched_tokens": 271},
        ),
    ),
    "field-left-out": (con007_unknown_field, True, _case(traits=FIELDS, written=POLICY)),
    "field-known": (con007_unknown_field, False, _case(traits=FIELDS, written=RANK)),
    "field-refused": (
        con007_unknown_field,
        False,
        _case(traits=FIELDS | {"ignores_unknown_fields": False}, written=POLICY),
    ),
    "fields-unknown": (
        con007_unknown_field,
        False,
        _case(traits={"ignores_unknown_fields": True}, written=POLICY),
    ),
    "leaving": (con008_leaving, True, _case(written=Connector("P2pNcclConnector", DEFAULT))),
    "given-up": (
        con008_leaving,
        True,
        _case(written=Connector("DynamoConnector", DEFAULT, module_path="kvbm")),
    ),
    "staying": (con008_leaving, False, _case()),
    "left-already": (
        con008_leaving,
        False,
        _case(written=Connector("SharedStorageConnector", DEFAULT)),
    ),
    "role-of-old-mp": (
        con009_role_without_effect,
        True,
        _case(role="kv_consumer", versions={"lmcache": "0.5.5"}),
    ),
    "role-of-mp": (con009_role_without_effect, False, _case(role="kv_consumer")),
    "role-of-unknown-mp": (
        con009_role_without_effect,
        False,
        _case(role="kv_consumer", versions={"lmcache": None}),
    ),
    "failed-load": (con015_failed_load, True, _case(traits={"one_group_load_failures": True})),
    "failed-load-one-group": (
        con015_failed_load,
        False,
        _case(traits={"one_group_load_failures": True}, groups=[ATTENTION]),
    ),
    "failed-load-newer": (
        con015_failed_load,
        False,
        _case(traits={"one_group_load_failures": False}),
    ),
    "failed-load-never-reported": (
        con015_failed_load,
        False,
        _case(traits={"one_group_load_failures": True}, reports=False),
    ),
    "sleep": (
        con016_sleep_mode,
        True,
        _case(traits={"tells_connectors_of_sleep": False}, config={"sleep_mode": True}),
    ),
    "sleep-told": (
        con016_sleep_mode,
        False,
        _case(traits={"tells_connectors_of_sleep": True}, config={"sleep_mode": True}),
    ),
    "sleep-copies": (
        con016_sleep_mode,
        False,
        _case(
            "OffloadingConnector",
            traits={"tells_connectors_of_sleep": False},
            config={"sleep_mode": True},
        ),
    ),
    "operations": (ver003_operations, True, _case(traits=_operations(SYMBOL))),
    "operations-load": (ver003_operations, False, _case(traits=_operations(None))),
    "operations-no-driver": (
        ver003_operations,
        False,
        _case(traits=_operations("libcuda.so.1: cannot open shared object file")),
    ),
    "operations-unused": (
        ver003_operations,
        False,
        _case("OffloadingConnector", traits=_operations(SYMBOL)),
    ),
    "pair-read": (ver002_untried_pair, False, _case()),
    "pair-of-a-build": (ver002_untried_pair, False, _case(versions={"vllm": "0.32.0+cu130"})),
    "pair-unread": (ver002_untried_pair, True, _case(versions={"lmcache": "0.99.0"})),
    "pair-without-lmcache": (
        ver002_untried_pair,
        False,
        _case("OffloadingConnector", versions={"vllm": "0.99.0"}),
    ),
    "server-of-another-release": (
        lms028_other_release,
        True,
        _case(versions={"lmcache": "0.5.3"}, server_version="0.5.2"),
    ),
    "server-that-speaks-alike": (
        lms028_other_release,
        False,
        _case(versions={"lmcache": "0.5.3"}, server_version="0.5.4"),
    ),
    "server-of-unknown-release": (lms028_other_release, False, _case()),
    "server-of-unread-release": (
        lms028_other_release,
        False,
        _case(server_version="0.99.0"),
    ),
    "server-of-nobody": (
        lms028_other_release,
        False,
        _case("OffloadingConnector", server_version="0.5.2"),
    ),
    "newest-pair": (ver001_known_issue, False, _case()),
    "adapter": (
        ver001_known_issue,
        True,
        _case(versions={"vllm": "0.21.0", "lmcache": "0.5.0"}, module=BUNDLED),
    ),
    "adapter-of-lmcaches-own": (
        ver001_known_issue,
        False,
        _case(
            versions={"vllm": "0.21.0", "lmcache": "0.5.0"},
            module="lmcache.integration.vllm.lmcache_mp_connector_0201",
        ),
    ),
    "adapter-older": (
        ver001_known_issue,
        False,
        _case(versions={"vllm": "0.21.0", "lmcache": "0.4.6"}, module=BUNDLED),
    ),
    "fails-when-moved": (
        ver001_known_issue,
        True,
        _case("LMCacheConnectorV1", versions={"vllm": "0.15.0", "lmcache": "0.3.7"}),
    ),
    "disk-and-async": (
        ver001_known_issue,
        True,
        _case(
            "LMCacheConnectorV1",
            versions={"lmcache": "0.4.4"},
            lmcache={"gds_path": "/mnt", "enable_async_loading": True},
        ),
    ),
    "disk-only": (
        ver001_known_issue,
        False,
        _case(
            "LMCacheConnectorV1",
            versions={"lmcache": "0.4.4"},
            lmcache={"gds_path": "/mnt", "enable_async_loading": False},
        ),
    ),
    "l2-groups": (
        ver001_known_issue,
        True,
        _case(versions={"lmcache": "0.5.1"}, server={"l2-adapter": "{}"}),
    ),
    "l2-one-object": (
        ver001_known_issue,
        False,
        _case(
            versions={"lmcache": "0.5.1"},
            server={"l2-adapter": "{}", "separate-object-groups": False},
        ),
    ),
    "l2-one-group": (
        ver001_known_issue,
        False,
        _case(versions={"lmcache": "0.5.1"}, server={"l2-adapter": "{}"}, groups=[ATTENTION]),
    ),
    "serializer": (
        ver001_known_issue,
        True,
        _case(
            versions={"lmcache": "0.5.4"},
            server={"l2-adapter": '{"serde": {"type": "fp8"}}', "separate-object-groups": True},
        ),
    ),
    "no-serializer": (
        ver001_known_issue,
        False,
        _case(
            versions={"lmcache": "0.5.4"},
            server={"l2-adapter": "{}", "separate-object-groups": True},
        ),
    ),
    "draft": (
        ver001_known_issue,
        True,
        _case(
            versions={"lmcache": "0.4.5"},
            config={"speculative": {"method": "eagle3", "num_tokens": 3}},
        ),
    ),
    "mtp": (
        ver001_known_issue,
        False,
        _case(
            versions={"lmcache": "0.4.5"},
            config={"speculative": {"method": "mtp", "num_tokens": 1}},
        ),
    ),
    "architecture": (
        ver001_known_issue,
        True,
        _case(
            "NixlConnector",
            versions={"vllm": "0.26.0"},
            config={"architectures": ["DeepseekV4ForCausalLM"]},
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_case(name: str) -> None:
    rule, speaks, case = CASES[name]
    found = _said(rule, case)
    assert bool(found) is speaks, found
    assert all(finding.id == rule.ID for finding in found)


_ENABLED = "Hybrid KV cache manager was explicitly enabled but is not supported"
_UNIFY = "failed to convert the KV cache specs to one unified type."
EVENTS = Setting("kv-events-config", {"enable_kv_cache_events": True}, DEFAULT)


@pytest.mark.parametrize(
    ("on_refused", "off_refused", "speaks"),
    [(True, True, True), (False, True, False), (True, False, False)],
    ids=["neither", "hma-on-works", "hma-off-works"],
)
def test_events_with_a_model_that_needs_hma(
    on_refused: bool, off_refused: bool, speaks: bool
) -> None:
    # As vLLM 0.19.1 and 0.20.2 answer for Qwen3-Next, and 0.19.1 for Gemma 3.
    facts = _case("OffloadingConnector").facts
    works: dict[str, Any] = {"error": None, "bytes_per_request": 1000}
    fails = {"error": {"type": "ValueError", "message": _UNIFY}}
    hma = Hma(
        operator_flag=None,
        default=HmaState(on=not on_refused, error=None),
        explicit_on=HmaState(
            on=None if on_refused else True, error=_ENABLED if on_refused else None
        ),
        explicit_off=HmaState(on=False, error=None),
    )
    plans = {
        "hma_on": works | {"groups": [{"layers": 4} | g for g in (STATES, ATTENTION)]},
        "hma_off": fails if off_refused else works,
    }
    answer = replace(facts.answer, connector=None, hma=hma, plan=decode(Plans, plans))
    deployment = replace(facts.deployment, connector=None, vllm=(EVENTS,))
    facts = replace(facts, answer=answer, deployment=deployment)
    found = list(hma012_neither_works.check(Case(facts, verdict_of(facts))))
    assert bool(found) is speaks
    assert all("remove `kv-events-config`" in finding.fix for finding in found)


@pytest.mark.parametrize("issue", known_issues(), ids=lambda issue: issue.source)
def test_each_known_issue_ends_somewhere(issue: KnownIssue) -> None:
    """A report about some releases says nothing of the next ones, unless LMCache's side ends it."""
    assert issue.vllm or issue.lmcache
    assert not issue.concerns("99.0", "99.0")
    assert issue.source
    assert issue.fix
