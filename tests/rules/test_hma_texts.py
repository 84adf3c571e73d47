"""What the rules about HMA say of an explicit enable, of other connectors and of newer releases."""

from dataclasses import fields, replace
from typing import Any

import pytest

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import DEFAULT, Setting
from hmactl.engine.answer import Answer, ConnectorAnswer, EngineConfig
from hmactl.engine.decode import decode
from hmactl.facts.facts import Facts
from hmactl.finding import Finding
from hmactl.rules.case import Case
from hmactl.rules.con import con002_does_not_load, con018_old_constructor
from hmactl.rules.hma import (
    hma001_disabled,
    hma002_cannot_unify,
    hma003_keep_impossible,
    hma011_enabled_for_nothing,
    hma013_left_to_vllm,
)
from hmactl.verdict.situation import verdict_of

pytestmark = pytest.mark.usefixtures("rules_in_their_groups")

GROUP = {"spec": "FullAttentionSpec", "block_size": 16, "page_size_bytes": 1024, "layers": 6}
PLAN: dict[str, Any] = {"error": None, "bytes_per_request": 1 << 30, "groups": [GROUP, GROUP]}
CANNOT = {"error": {"type": "ValueError", "message": "Failed to promote"}}


def _described(name: str, **more: Any) -> dict[str, Any]:
    found = {"role": "kv_both", "module": "m", "class": name, "file": None, "error": None}
    return {"name": name, "supports_hma": False, **found, **more}


def _case(
    *,
    vllm: str = "0.32.0",
    lmcache: str | None = "0.5.6",
    explicit_on: dict[str, Any] | None = None,
    with_hma: tuple[str, ...] = (),
    groups: int = 2,
    unify: bool = True,
    name: str = "LMCacheConnectorV1",
    supports: bool = False,
    default_on: bool | None = False,
    model: dict[str, Any] | None = None,
    **deployment: Any,
) -> Case:
    plan = PLAN | {"groups": [GROUP] * groups}
    answer = decode(
        Answer,
        {
            "error": None,
            "versions": {
                "vllm": vllm,
                "vllm_path": "",
                "lmcache": lmcache,
                "torch": "2",
                "transformers": None,
                "python": "3.12",
                "python_path": "",
            },
            "hma": {
                "operator_flag": None,
                "default": {"on": default_on, "error": None},
                "explicit_on": explicit_on or {"on": True, "error": None},
                "explicit_off": {"on": False, "error": None},
            },
            "connector": _described(name, supports_hma=supports),
            "connectors_with_hma": [_described(n, supports_hma=True) for n in with_hma],
            "plan": {"hma_on": plan, "hma_off": plan | {"groups": [GROUP]} if unify else CANNOT},
        }
        | (model or {}),
    )
    named = Setting("model", "m", DEFAULT)
    facts = Facts(
        Deployment("x", "x", named, connector=Connector(name, DEFAULT), **deployment),
        answer,
        None,
        None,
        None,
    )
    return Case(facts, verdict_of(facts))


def _one(findings: Any) -> Finding:
    (finding,) = findings
    assert isinstance(finding, Finding)
    return finding


@pytest.mark.parametrize(
    ("vllm", "explicit_on", "words"),
    [
        ("0.32.0", {"on": True, "error": None}, "vLLM 0.32.0 ends when it creates the connector"),
        ("0.12.0", {"on": False, "error": None}, "changes nothing: vLLM 0.12.0 overrules it"),
        ("0.19.1", {"on": None, "error": "no"}, "vLLM 0.19.1 ends at configuration time"),
    ],
)
def test_an_explicit_enable(vllm: str, explicit_on: dict[str, Any], words: str) -> None:
    disabled = _one(hma001_disabled.check(_case(vllm=vllm, explicit_on=explicit_on)))
    assert words in disabled.consequence
    refused = _case(vllm=vllm, explicit_on=explicit_on, unify=False)
    assert words in _one(hma002_cannot_unify.check(refused)).consequence
    kept = _case(vllm=vllm, explicit_on=explicit_on, hma=HmaPolicy.KEEP)
    assert words in _one(hma003_keep_impossible.check(kept)).consequence


def test_other_connectors_say_what_they_do_and_take() -> None:
    case = _case(with_hma=("OffloadingConnector", "LMCacheMPConnector", "NixlConnector"))
    fix = _one(hma001_disabled.check(case)).fix
    assert fix.index("- `LMCacheMPConnector`: `lmcache server` must run") < fix.index(
        "- `OffloadingConnector`: `extra_config"
    )
    assert "`lmcache server` must run beside it" in fix
    assert "cpu_bytes_to_use" in fix
    assert "Nixl" not in fix


LAYER = {"count": 1, "first_layer": ""}
BASE: dict[str, Any] = dict.fromkeys((f.name for f in fields(EngineConfig)), None) | {
    "architectures": ["M"],
    "cache_dtype": "auto",
    "dtype": "bfloat16",
    "enable_prefix_caching": True,
    "enforce_eager": False,
    "gpu_memory_utilization": 0.9,
    "max_model_len": 4096,
    "max_num_batched_tokens": 4096,
    "max_num_seqs": 8,
    "multimodal": False,
    "pipeline_parallel_size": 1,
    "tensor_parallel_size": 1,
    "data_parallel_size": 1,
    "vocab_size": 8,
}


NEEDS_CACHING = "need --enable-prefix-caching to align"


def _model(
    mode: str, *, refuses_hits: bool = False, words: str = NEEDS_CACHING, **config: Any
) -> dict[str, Any]:
    """A model with Mamba states beside attention, on a vLLM that takes hits or does not."""
    states = GROUP | {"spec": "MambaSpec"}
    refusal = {"connector": "OffloadingConnector", "message": words}
    plan = PLAN | {"groups": [GROUP, states]}
    return {
        "config": BASE
        | {"mamba_cache_mode": mode, "enable_prefix_caching": mode != "none"}
        | config,
        "layers": [[GROUP | LAYER, states | LAYER]],
        "traits": {"refuses_external_mamba_hits": refuses_hits, "refuses_encoder_decoder": True},
        "plan": {
            "hma_on": plan | {"refusals_of_others": [refusal] if mode == "none" else []},
            "hma_off": CANNOT,
        },
    }


OFFLOADS = ("OffloadingConnector", "SimpleCPUOffloadConnector")
NOTHING = "no connector of this vLLM that does the same job would work for this model"
STATES = "support HMA, and vLLM takes Mamba states that a connector brings, from vLLM 0.23.0 on"


@pytest.mark.parametrize(
    ("model", "vllm", "said", "unsaid"),
    [
        (_model("align"), "0.32.0", "- `OffloadingConnector`: `extra_config", "here with"),
        (_model("none"), "0.32.0", "here with `enable-prefix-caching: true`", NOTHING),
        (
            _model("none", words="MambaSpec with ... (mamba_cache_mode != 'align')"),
            "0.25.1",
            "host memory; here with `enable-prefix-caching: true`",
            NOTHING,
        ),
        (_model("none", words="something else"), "0.32.0", "SimpleCPU", "`OffloadingConnector"),
        # A hit would end it, and prefix caching would bring the states into the mode where it does.
        (_model("align", refuses_hits=True), "0.22.1", STATES, "change `connector:`"),
        (_model("none", refuses_hits=True), "0.22.1", NOTHING, "change `connector:`"),
        (_model("align", encoder_decoder=True), "0.32.0", NOTHING, "from vLLM"),
    ],
    ids=[
        "states",
        "not-kept",
        "not-aligned",
        "refused",
        "hits-end-it",
        "hits-would-end-it",
        "encoder-decoder",
    ],
)
def test_other_connectors_have_to_work_for_the_model(
    model: dict[str, Any], vllm: str, said: str, unsaid: str
) -> None:
    case = _case(vllm=vllm, with_hma=OFFLOADS, model=model)
    fix = _one(hma002_cannot_unify.check(case)).fix
    assert said in fix
    assert unsaid not in fix


def test_an_other_connector_is_none_that_is_known_to_fail() -> None:
    """vLLM's own LMCacheMPConnector of 0.21 with that LMCache."""
    issue: dict[str, Any] = {
        "vllm": "0.21.0",
        "lmcache": "0.5.0",
        "with_hma": ("LMCacheMPConnector",),
    }
    bundled = "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_mp_connector"
    for module, offered in ((bundled, False), ("lmcache.integration.vllm.m", True)):
        other = _described("LMCacheMPConnector", supports_hma=True, module=module)
        case = _case(**issue, model={"connectors_with_hma": [other]})
        fix = _one(hma001_disabled.check(case)).fix
        assert ("`LMCacheMPConnector`:" in fix) is offered


@pytest.mark.parametrize(
    ("vllm", "lmcache", "offered"),
    [
        ("0.32.0", "0.5.6", ["LMCacheMPConnector", "OffloadingConnector"]),
        # Which LMCache is not known, and it hangs on that.
        ("0.32.0", None, ["OffloadingConnector"]),
        ("0.18.1", "0.5.6", []),
        ("", None, []),
    ],
)
def test_without_an_engine_the_catalogue_is_asked(
    vllm: str, lmcache: str | None, offered: list[str]
) -> None:
    fix = _one(hma001_disabled.check(_case(vllm=vllm, lmcache=lmcache))).fix
    for name in ("LMCacheMPConnector", "OffloadingConnector"):
        assert (f"`{name}`:" in fix) is (name in offered)


def test_a_command_is_told_of_its_own_words() -> None:
    case = _case(with_hma=OFFLOADS, form=Form.COMMAND, model=_model("none"))
    fix = _one(hma002_cannot_unify.check(case)).fix
    assert fix.startswith("change `kv_connector` to one that keeps HMA on")
    assert "here with `--enable-prefix-caching`" in fix


@pytest.mark.parametrize(
    ("name", "vllm", "lmcache", "words"),
    [
        ("NixlConnector", "0.17.1", None, "NixlConnector supports HMA from vLLM 0.18.0 on"),
        (
            "LMCacheMPConnector",
            "0.32.0",
            "0.4.6",
            "LMCacheMPConnector supports HMA from LMCache 0.4.7 on",
        ),
        ("LMCacheConnectorV1", "0.18.1", None, "SimpleCPUOffloadConnector supports HMA from vLLM"),
    ],
)
def test_a_newer_release_that_would_help(
    name: str, vllm: str, lmcache: str | None, words: str
) -> None:
    case = _case(name=name, vllm=vllm, lmcache=lmcache)
    assert words in _one(hma001_disabled.check(case)).fix


def test_no_newer_release_is_promised() -> None:
    case = _case(with_hma=("OffloadingConnector",))
    assert " on:\n- `OffloadingConnector`" in (fix := _one(hma001_disabled.check(case)).fix)
    assert "from vLLM" not in fix


@pytest.mark.parametrize(
    ("form", "policy", "groups", "on", "found"),
    [
        (Form.SHELL, HmaPolicy.KEEP, 1, True, True),
        (Form.PROFILE, HmaPolicy.KEEP, 1, True, False),
        (Form.SHELL, HmaPolicy.AUTO, 1, True, False),
        (Form.SHELL, HmaPolicy.KEEP, 2, True, False),
        # vLLM 0.12 overrules the flag, and starts.
        (Form.SHELL, HmaPolicy.KEEP, 1, False, False),
    ],
)
def test_enabled_for_nothing(
    form: Form, policy: HmaPolicy, groups: int, on: bool, found: bool
) -> None:
    case = _case(explicit_on={"on": on, "error": None}, groups=groups, hma=policy, form=form)
    assert bool([*hma011_enabled_for_nothing.check(case)]) is found


@pytest.mark.parametrize("old", [True, False])
def test_a_constructor_without_the_third_argument(old: bool) -> None:
    case = _case()
    described = _described("C", supports_hma=None, error="ValueError: no", old_constructor=old)
    answer = replace(case.facts.answer, connector=decode(ConnectorAnswer, described))
    facts = Facts(case.facts.deployment, answer, None, None, None)
    case = Case(facts, case.verdict)
    assert len([*con018_old_constructor.check(case)]) == int(old)
    assert len([*con002_does_not_load.check(case)]) == int(not old)


@pytest.mark.parametrize(
    ("more", "words", "fix"),
    [
        ({"supports": True}, "switches HMA off: LMC", "`--no-disable-hybrid-kv-cache-manager`"),
        ({"supports": True, "default_on": None}, "fails", "`--no-disable-hybrid-kv-cache-"),
        ({"default_on": None}, "fails", "`--disable-hybrid-kv-cache-manager`"),
    ],
)
def test_what_a_command_leaves_to_vllm(more: dict[str, Any], words: str, fix: str) -> None:
    finding = _one(hma013_left_to_vllm.check(_case(form=Form.COMMAND, **more)))
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    "more",
    [
        {"form": Form.COMMAND, "supports": True, "default_on": True},
        {"form": Form.COMMAND},
        {"form": Form.COMMAND, "supports": True, "hma": HmaPolicy.KEEP},
        {"form": Form.PROFILE, "supports": True},
        {"form": Form.COMMAND, "supports": True, "groups": 1},
    ],
)
def test_nothing_is_left_to_vllm(more: dict[str, Any]) -> None:
    assert not list(hma013_left_to_vllm.check(_case(**more)))


def test_a_command_is_not_told_of_profiles() -> None:
    finding = _one(hma003_keep_impossible.check(_case(hma=HmaPolicy.KEEP, form=Form.COMMAND)))
    assert "write `--disable-hybrid-kv-cache-manager` instead to accept that" in finding.fix
    assert "hma:" not in finding.fix
