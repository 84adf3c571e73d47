"""Which newer release would help: the releases are those whose sources first have it."""

import pytest

from hmactl.catalogue.limits import Limit, limits
from hmactl.catalogue.upgrades import upgrades


@pytest.mark.parametrize(
    ("name", "vllm", "lmcache", "expected"),
    [
        ("NixlConnector", "0.17.1", None, {("NixlConnector", "vLLM", "0.18.0")}),
        ("OffloadingConnector", "0.20.2", None, {("OffloadingConnector", "vLLM", "0.21.0")}),
        (
            "LMCacheMPConnector",
            "0.32.0",
            "0.4.6",
            {("LMCacheMPConnector", "LMCache", "0.4.7")},
        ),
        # LMCache's class needs vLLM 0.22.0, whatever newer LMCache there is.
        ("LMCacheMPConnector", "0.21.0", "0.5.6", {("LMCacheMPConnector", "vLLM", "0.22.0")}),
        # Never itself, and others of this vLLM do.
        ("LMCacheConnectorV1", "0.32.0", "0.5.6", set()),
        # Never itself, and no other that offloads before SimpleCPUOffloadConnector came.
        (
            "LMCacheConnectorV1",
            "0.18.1",
            "0.5.6",
            {("SimpleCPUOffloadConnector", "vLLM", "0.19.0")},
        ),
        ("LMCacheConnectorV1", "0.33.0", None, set()),
        ("OwnConnector", "no version", None, set()),
    ],
)
def test_upgrades(
    name: str, vllm: str, lmcache: str | None, expected: set[tuple[str, str, str]]
) -> None:
    found = {(u.connector, u.package, u.version) for u in upgrades(name, vllm, lmcache, {})}
    assert found == expected


def test_a_variable_stays_in_the_way() -> None:
    environment = {"LMCACHE_USE_UPSTREAM_MP": "1"}
    assert not upgrades("LMCacheMPConnector", "0.32.0", "0.4.6", environment)


def _named(limit: Limit) -> str:
    return limit.what


@pytest.mark.parametrize("limit", limits(), ids=_named)
def test_a_release_that_the_model_cannot_use_is_no_help(limit: Limit) -> None:
    """MP has HMA from 0.22.0 on, which is not past either limit."""
    found = upgrades("LMCacheMPConnector", "0.21.0", "0.5.6", {}, [limit])
    assert [u.version for u in found] == ([limit.first] if limit.first else [])


def test_limits_have_a_source_and_an_end() -> None:
    for limit in limits():
        assert limit.source
        assert not limit.is_past("0.22.1")
        assert not limit.is_past("no version")
        assert limit.is_past("99.0") is (limit.first is not None)
