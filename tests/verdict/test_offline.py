"""The decision without an engine, held to a table that was written from vLLM's sources."""

from itertools import product
from pathlib import Path

import pytest
from packaging.version import Version

from hmactl.catalogue.connector_versions import NOT_INSTALLED, Child, VllmRelease, vllm_releases
from hmactl.catalogue.hma_decision import Circumstances, Enabling
from hmactl.deployment.policy import HmaPolicy
from hmactl.verdict.decide import decide
from hmactl.verdict.offline import (
    Asked,
    Connected,
    Known,
    ModelKind,
    World,
    explicit_enable,
    offline_verdict,
    situation,
)

TABLE = Path(__file__).parents[1] / "cases" / "hma-decisions.txt"
SUPPORTS = {"none": None, "yes": True, "no": False, "broken": None}
MODELS = {
    "nocache": ModelKind.NO_CACHE,
    "one": ModelKind.ONE_GROUP,
    "unify": ModelKind.UNIFIABLE,
    "never": ModelKind.NOT_UNIFIABLE,
}
POLICIES = {"-": HmaPolicy.AUTO, "on": HmaPolicy.KEEP, "off": HmaPolicy.DISABLE}
FLAGS = {
    None: "-",
    "--no-disable-hybrid-kv-cache-manager": "on",
    "--disable-hybrid-kv-cache-manager": "off",
}
OTHERS = {
    "-": Circumstances(),
    "platform": Circumstances(platform="tpu"),
    "events": Circumstances(kv_events=True),
    "unset": Circumstances(chunks=True),
    "allowed": Circumstances(chunks=True, allows_chunks=True),
    "forbidden": Circumstances(chunks=True, allows_chunks=False),
    "eagle": Circumstances(chunks=True, eagle=True, allows_chunks=True),
    "hisparse": Circumstances(hisparse=True),
}


def _rows() -> list[tuple[list[str], list[str]]]:
    lines = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    rows = []
    for line in lines:
        when, _, then = line.partition("|")
        rows.append((when.split(), then.split()))
    return rows


ROWS = _rows()


def _expected(release: VllmRelease, *combination: str) -> tuple[int, list[str]]:
    for number, (when, then) in enumerate(ROWS):
        first, _, last = when[0].partition("-")
        if first != "*":
            version = Version(release.version)
            if not Version(first) <= version <= Version(last):
                continue
        if all(
            cell == "*" or value in cell.split(",")
            for cell, value in zip(when[1:], combination, strict=True)
        ):
            return number, then
    raise AssertionError(f"no row for {release.version} {combination}")


def test_every_combination() -> None:
    used, wrong, count = set(), [], 0
    for release, *combination in product(vllm_releases(), OTHERS, SUPPORTS, MODELS, POLICIES):
        other, support, model, flag = combination
        connector = None if support == "none" else Connected("C", SUPPORTS[support])
        world = World(release.rules.hma, connector, MODELS[model], OTHERS[other])
        verdict = decide(situation(world, POLICIES[flag]))
        ours = [str(verdict.engine_default), str(verdict.decision), FLAGS[verdict.flag]]
        number, expected = _expected(release, *combination)
        used.add(number)
        count += 1
        if ours != expected:
            wrong.append(f"{release.version} {combination}: {ours}, not {expected}")
    assert not wrong, "\n".join([f"{len(wrong)} of {count}", *wrong[:10]])
    assert used == set(range(len(ROWS))), "rows that fit nothing"
    assert count == len(vllm_releases()) * 8 * 4 * 4 * 3


def _known(
    vllm: str | None,
    name: str | None,
    model: ModelKind | None = ModelKind.UNIFIABLE,
    lmcache: str | None = "0.5.6",
    **more: object,
) -> Known:
    return Known(vllm, lmcache, None if name is None else Asked(name), model, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "decision", "default"),
    [
        (_known("0.32.0", "LMCacheConnectorV1"), "disable", "off"),
        (_known("0.32.0", "LMCacheMPConnector"), "keep", "on"),
        (_known("0.21.0", "OffloadingConnector"), "keep", "off"),
        (_known("0.20.2", "OffloadingConnector"), "disable", "off"),
        # LMCache's own class from 0.4.7 on; without knowing which LMCache, it hangs on that.
        (_known("0.32.0", "LMCacheMPConnector", lmcache="0.4.6"), "disable", "off"),
        (_known("0.32.0", "LMCacheMPConnector", lmcache=None), "unknown", None),
        (_known("0.32.0", "LMCacheMPConnector", lmcache=NOT_INSTALLED), "unknown", "fails"),
        (
            _known("0.32.0", "LMCacheMPConnector", environment={"LMCACHE_USE_UPSTREAM_MP": "1"}),
            "disable",
            "off",
        ),
        # Whatever the version, this one never does.
        (_known(None, "LMCacheConnectorV1"), "disable", "off"),
        (_known(None, "LMCacheConnectorV1", ModelKind.NOT_UNIFIABLE), "refuse", "fails"),
        (_known(None, "OffloadingConnector"), "unknown", None),
        (_known(None, None), "keep", "on"),
        (_known("0.32.0", "LMCacheConnectorV1", None), "unknown", None),
        (_known("0.32.0", "NoSuchConnector"), "unknown", None),
        (_known("0.32.0", None, kv_events=None), "keep", "on"),
        (_known("0.19.1", None, kv_events=None), "unknown", None),
        (_known("0.19.1", None, kv_events=True), "disable", "off"),
        (_known("0.10.0", None), "unknown", None),
    ],
)
def test_what_is_known(known: Known, decision: str, default: str | None) -> None:
    verdict = offline_verdict(known)
    assert (verdict.decision, verdict.engine_default) == (decision, default)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            _known(None, "OffloadingConnector"),
            "it hangs on the vLLM version: "
            "disable with 0.11.1 to 0.20.2; keep with 0.21.0 to 0.33.0",
        ),
        (
            _known("0.32.0", "LMCacheMPConnector", lmcache=None),
            "it hangs on whether the connector supports HMA: keep with yes; disable with no",
        ),
        (_known("0.19.1", None, kv_events=None), "it hangs on --kv-events-config"),
        (_known("0.10.0", None), "nothing is known of vLLM 0.10.0"),
        (_known("0.34.0", None), "(by the rules of vLLM 0.33.0)"),
    ],
)
def test_what_is_said(known: Known, said: str) -> None:
    assert said in offline_verdict(known).reason


@pytest.mark.parametrize(
    ("vllm", "backend", "decision", "default"),
    [
        # Expanded after HMA is decided: it stays on, and the connector is refused.
        ("0.20.2", "native", "disable", "fails"),
        ("0.20.2", "", "disable", "fails"),
        ("0.21.0", "native", "keep", "on"),
        ("0.21.0", "lmcache", "disable", "fails"),
        ("0.22.0", "native", "keep", "on"),
        ("0.22.0", "lmcache", "disable", "off"),
        ("0.23.0", "lmcache", "keep", "on"),
        # No backend by default before 0.14: the size alone does nothing.
        ("0.13.0", "", "keep", "on"),
        ("0.13.0", "native", "disable", "fails"),
    ],
)
def test_the_offloading_options(vllm: str, backend: str, decision: str, default: str) -> None:
    verdict = offline_verdict(_known(vllm, None, offloading=backend))
    assert (verdict.decision, verdict.engine_default) == (decision, default)


def test_a_variable_picks_the_simple_connector() -> None:
    environment = {"VLLM_USE_SIMPLE_KV_OFFLOAD": "1"}
    known = _known("0.19.1", None, offloading="native", environment=environment)
    assert offline_verdict(known).decision == "keep"
    assert offline_verdict(_known("0.19.1", None, offloading="native")).decision == "disable"


def test_children() -> None:
    children = (Child("NixlConnector"), Child("LMCacheConnectorV1"))
    known = Known(
        "0.32.0", "0.5.6", Asked("MultiConnector", children=children), ModelKind.UNIFIABLE
    )
    assert offline_verdict(known).decision == "disable"


@pytest.mark.parametrize(
    ("vllm", "name", "enabling"),
    [
        ("0.12.0", "LMCacheConnectorV1", Enabling.OVERRULED),
        ("0.13.0", "LMCacheConnectorV1", Enabling.CRASHES),
        ("0.33.0", "LMCacheConnectorV1", Enabling.CRASHES),
        ("0.20.2", "NixlConnector", Enabling.WORKS),
        ("0.20.2", None, Enabling.WORKS),
        (None, "LMCacheConnectorV1", None),
    ],
)
def test_an_explicit_enable(vllm: str | None, name: str | None, enabling: Enabling | None) -> None:
    assert explicit_enable(_known(vllm, name)) is enabling


def test_an_explicit_enable_against_another_rule() -> None:
    assert explicit_enable(_known("0.19.1", None, kv_events=True)) is Enabling.REFUSED
    assert explicit_enable(_known("0.12.0", None, kv_events=True)) is Enabling.OVERRULED
    assert explicit_enable(_known("0.20.0", None, kv_events=True)) is Enabling.WORKS
