"""The ready profiles against the installed engine.

The figures for 40 GiB are those of an independent run of vLLM 0.32.0's own planner on a virtual
H100; profiles for other GPUs and layouts have figures by hand arithmetic beside them.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import PROFILES, Run

pytestmark = pytest.mark.engine

ON = "--no-disable-hybrid-kv-cache-manager"
OFF = "--disable-hybrid-kv-cache-manager"


@pytest.fixture(scope="module")
def version(engine: Any) -> str:
    if engine.vllm is None or not engine.vllm.version.startswith("0.32.0"):
        pytest.skip("the figures are those of vLLM 0.32.0")
    return str(engine.vllm.version)


def _check(hmactl: Run, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = hmactl("check", "--format", "json", "-q", *arguments)
    return done.returncode, json.loads(done.stdout)["deployments"][0]


def _shape(side: dict[str, Any]) -> list[tuple[int, str, int]]:
    return [(g["layers"], g["spec"], g["block_size"]) for g in side["groups"]]


@pytest.mark.usefixtures("version")
def test_gpt_oss_20b_keeps_hma(hmactl: Run) -> None:
    status, one = _check(
        hmactl, PROFILES / "gpt-oss-20b-offloading.yaml", "--kv-cache-memory", "40GiB"
    )
    assert status == 0
    assert (one["verdict"]["decision"], one["verdict"]["flag"]) == ("keep", ON)
    on, off = one["plan"]["hma_on"], one["plan"]["hma_off"]
    assert (on["num_blocks"], on["tokens"]) == (109226, 1551920)
    assert on["max_concurrency"] == pytest.approx(11.84, abs=0.005)
    assert (off["num_blocks"], off["tokens"]) == (54613, 873808)
    assert off["max_concurrency"] == pytest.approx(6.667, abs=0.0005)
    assert _shape(on) == [(12, "SlidingWindowSpec", 16), (12, "FullAttentionSpec", 16)]
    # 13.79e9 bytes; the published checkpoint has 13.76e9
    assert one["plan"]["weights_bytes_per_rank"][0] / 2**30 == pytest.approx(12.847, abs=0.001)
    assert one["connector"]["supports_hma"] is True


@pytest.mark.usefixtures("version")
def test_gemma_3_4b_without_its_limits(hmactl: Run, tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("model: google/gemma-3-4b-it\nconnector: LMCacheConnectorV1\n")
    status, one = _check(hmactl, profile, "--kv-cache-memory", "40GiB")
    assert status == 0
    on, off = one["plan"]["hma_on"], one["plan"]["hma_off"]
    assert (on["num_blocks"], on["tokens"]) == (131072, 1166635)
    assert on["max_concurrency"] == pytest.approx(8.901, abs=0.0005)
    assert (off["num_blocks"], off["tokens"]) == (19275, 308400)
    assert off["max_concurrency"] == pytest.approx(2.353, abs=0.0005)
    sliding = [(n, "SlidingWindowSpec", 16) for n in (5, 5, 5, 5, 5, 4)]
    assert _shape(on) == [*sliding, (5, "FullAttentionSpec", 16)]
    places = [(f["id"], f["severity"], f["line"], f["column"]) for f in one["findings"]]
    # LMCache's default of 5 GiB holds a third of the model's 131,072 tokens.
    assert places == [("HMA001", "warning", 2, 1), ("LMC011", "warning", 2, 1)]


@pytest.mark.usefixtures("version")
def test_qwen3_next_cannot_do_without(hmactl: Run, tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("model: Qwen/Qwen3-Next-80B-A3B-Instruct\nconnector: LMCacheMPConnector\n")
    status, one = _check(hmactl, profile, "--kv-cache-memory", "40GiB")
    # The plan holds for 40 GiB, but one H100 cannot hold the weights of 80e9 bf16 parameters. The
    # block of 544 tokens is that of the plan below.
    assert (status, [f["id"] for f in one["findings"]]) == (1, ["MEM003", "HMA010"])
    assert "fewer than 544 tokens" in one["findings"][1]["message"]
    assert one["verdict"]["decision"] == "keep"
    on, off = one["plan"]["hma_on"], one["plan"]["hma_off"]
    assert (on["num_blocks"], on["tokens"]) == (3212, 1725423)
    assert on["max_concurrency"] == pytest.approx(6.582, abs=0.0005)
    assert _shape(on) == [(12, "MambaSpec", 544)] * 3 + [(12, "FullAttentionSpec", 544)]
    assert off["error"] == "Failed to promote local KV cache specs to one unified type."
    assert off["num_blocks"] is None
    connector = one["connector"]
    assert connector["module"] == "lmcache.integration.vllm.lmcache_mp_connector"
    assert connector["file"].endswith("lmcache/integration/vllm/lmcache_mp_connector.py")


@pytest.mark.usefixtures("version")
def test_deepseek_v3_has_one_group(hmactl: Run) -> None:
    status, one = _check(hmactl, PROFILES / "deepseek-v3-nixl.yaml", "--kv-cache-memory", "40GiB")
    assert status == 0
    assert (one["verdict"]["decision"], one["verdict"]["flag"]) == ("irrelevant", ON)
    for side in (one["plan"]["hma_on"], one["plan"]["hma_off"]):
        assert (side["num_blocks"], side["tokens"]) == (38199, 611184)
    assert one["plan"]["weights_bytes_per_rank"][0] / 2**30 == pytest.approx(79.31, abs=0.005)
    assert one["connector"]["class"] == "NixlPullConnector"


@pytest.mark.usefixtures("version")
def test_llama_has_one_group_and_may_not_ask_for_hma(hmactl: Run) -> None:
    status, one = _check(
        hmactl, PROFILES / "llama-3.1-8b-lmcache.yaml", "--kv-cache-memory", "20GiB"
    )
    assert status == 0
    assert (one["verdict"]["decision"], one["verdict"]["flag"]) == ("irrelevant", OFF)
    # 32 layers, keys and values, 8 heads of 128, 2 bytes, 16 tokens
    blocks = 20 * 2**30 // (32 * 2 * 8 * 128 * 2 * 16)
    for side in (one["plan"]["hma_on"], one["plan"]["hma_off"]):
        assert (side["num_blocks"], side["tokens"]) == (blocks, blocks * 16)


@pytest.mark.usefixtures("version")
def test_a_multi_connector_is_as_good_as_its_worst_child(hmactl: Run) -> None:
    _status, one = _check(hmactl, PROFILES / "gemma-3-4b-multi.yaml", "--kv-cache-memory", "40GiB")
    assert one["connector"]["supports_hma"] is False
    support = {c["name"]: c["supports_hma"] for c in one["connector"]["children"]}
    assert support["LMCacheConnectorV1"] is False
    assert True in support.values()
    assert (one["verdict"]["decision"], one["verdict"]["flag"]) == ("disable", OFF)
    assert "LMCacheConnectorV1 in MultiConnector does not support HMA" in one["verdict"]["reason"]


@pytest.mark.usefixtures("version")
def test_the_seed_scenario(hmactl: Run) -> None:
    status, one = _check(hmactl, PROFILES / "gemma-3-4b-lmcache.yaml")
    assert status == 1
    assert (one["verdict"]["decision"], one["verdict"]["engine_default"]) == ("disable", "off")
    plan = one["plan"]
    assert plan["memory_origin"] == "estimated"
    assert plan["kv_cache_memory_bytes"] / 2**30 == pytest.approx(5.5, abs=0.1)
    off, on = plan["hma_off"], plan["hma_on"]
    # 75,000 tokens are 4,688 blocks of 16; 34 layers, keys and values, 4 heads of 256, 2 bytes
    assert off["bytes_per_request"] == 4688 * 16 * 34 * 2 * 4 * 256 * 2
    assert "9.73 GiB KV cache is needed" in off["error"]
    assert on["tokens"] == pytest.approx(120_446, rel=0.02)
    assert on["max_concurrency"] > 1
    memory = next(f for f in one["findings"] if f["id"] == "MEM001")
    assert "about 5.5" in memory["message"]
    assert "estimate" in memory["message"]
    longest = re.search(r"`max-model-len` up to about ([\d,]+)", memory["fix"])
    assert longest is not None
    # bytes per token: 34 layers, keys and values, 4 heads of 256, 2 bytes
    fits = plan["kv_cache_memory_bytes"] / (34 * 2 * 4 * 256 * 2)
    assert int(longest[1].replace(",", "")) == pytest.approx(fits, abs=32)
    alternative = f"LMCacheMPConnector, which keeps HMA on: about {on['tokens']:,} tokens fit"
    assert alternative in memory["fix"]
    hma = next(f for f in one["findings"] if f["id"] == "HMA001")
    assert "LMCacheMPConnector" in hma["fix"]


@pytest.mark.usefixtures("version")
def test_the_utilisation_that_is_named_would_do(hmactl: Run, tmp_path: Path) -> None:
    _status, one = _check(hmactl, PROFILES / "gemma-3-4b-lmcache.yaml")
    memory = next(f for f in one["findings"] if f["id"] == "MEM001")
    utilisation = memory["fix"].partition("`gpu-memory-utilization` of about ")[2].split(" ")[0]
    text = (PROFILES / "gemma-3-4b-lmcache.yaml").read_text()
    assert "gpu-memory-utilization: 0.18" in text
    profile = tmp_path / "more.yaml"
    profile.write_text(text.replace("utilization: 0.18", f"utilization: {utilisation}"))
    status, one = _check(hmactl, profile)
    assert status == 0
    assert one["plan"]["hma_off"]["error"] is None


def test_every_ready_profile_has_a_verdict(hmactl: Run, tmp_path: Path) -> None:
    names = sorted(p.name for p in PROFILES.glob("*.yaml") if p.name != "tiny-cpu.yaml")
    assert len(names) == 6
    done = hmactl("check", "--format", "json", "-q", *(PROFILES / name for name in names))
    report = json.loads(done.stdout)
    decisions = {Path(d["source"]).name: d["verdict"]["decision"] for d in report["deployments"]}
    assert set(decisions) == set(names)
    assert "unknown" not in decisions.values()
    assert "refuse" not in decisions.values()
