"""Which LMCaches speak to each other."""

import pytest

from hmactl.catalogue.connector_versions import lmcache_releases
from hmactl.catalogue.lmcache_wire import same_wire


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # 0.5.3 put REGISTER_Q_CACHE before STORE.
        ("0.5.2", "0.5.3", False),
        ("0.5.3", "0.5.4", True),
        ("0.5.6", "0.5.6+cu130", True),
        ("0.5.6", "0.99", None),
        ("nightly", "0.5.6", None),
    ],
)
def test_pairs(one: str, other: str, same: bool | None) -> None:
    assert same_wire(one, other) is same
    assert same_wire(other, one) is same


def test_every_release_with_the_connector_is_there() -> None:
    with_mp = [r.version for r in lmcache_releases() if any("mp_connector" in c for c in r.classes)]
    assert with_mp
    assert all(same_wire(version, version) for version in with_mp)
