"""The catalogue of connectors against the engine that is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.connector_versions import (
    NOT_INSTALLED,
    Hma,
    connector_support,
    vllm_releases,
)
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue.runs import expand

from hmactl.catalogue.source.modules import directory_sources
from hmactl.catalogue.source.releases import lmcache_release, names, vllm_release

pytestmark = pytest.mark.engine

DATA = Path(__file__).parents[2] / "hmactl/catalogue/data/connector-versions.json"
PACKAGES = ("vllm", "lmcache")
CHILDREN: tuple[list[str], ...] = (
    ["OffloadingConnector", "SimpleCPUOffloadConnector"],
    ["OffloadingConnector", "LMCacheConnectorV1"],
    [],
)
ASK = f"""
import json, sys
from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory as factory
from vllm.distributed.kv_transfer.kv_connector.v1.base import supports_hma
answer = {{"connectors": {{}}, "multi": []}}
for name in factory._registry:
    try:
        loaded = factory.get_connector_class_by_name(name)
        answer["connectors"][name] = [supports_hma(loaded), loaded.__module__]
    except ImportError as error:
        answer["connectors"][name] = [None, str(error)]
for children in {CHILDREN!r}:
    children = [dict(kv_connector=child, kv_role="kv_both") for child in children]
    config = KVTransferConfig(
        kv_connector="MultiConnector",
        kv_role="kv_both",
        kv_connector_extra_config=dict(connectors=children),
    )
    answer["multi"].append(factory.supports_hma_config(config))
print("\\n" + json.dumps(answer))
"""


@pytest.fixture(scope="module")
def known(engine: Engine) -> tuple[str, str]:
    """The versions of vLLM and LMCache, where the catalogue has that vLLM."""
    assert engine.vllm is not None
    lmcache = engine.lmcache.version if engine.lmcache else NOT_INSTALLED
    if engine.vllm.version not in {release.version for release in vllm_releases()}:
        pytest.skip(f"vLLM {engine.vllm.version} is not in the catalogue")
    return engine.vllm.version, lmcache


@pytest.fixture(scope="module")
def answer(engine: Engine) -> dict[str, Any]:
    """What the engine's own factory says of every connector in its registry."""
    environment = {k: v for k, v in os.environ.items() if k != "LMCACHE_USE_UPSTREAM_MP"}
    done = subprocess.run(
        [str(engine.python), "-c", ASK],
        env=environment | bridge_environment(engine, environment),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_the_catalogue_says_what_the_engine_does(
    known: tuple[str, str], answer: dict[str, Any]
) -> None:
    support = {name: connector_support(*known, name) for name in answer["connectors"]}
    assert len(support) > 10
    for name, (hma, where) in answer["connectors"].items():
        if name == "MultiConnector":
            assert (hma, support[name].hma) == (True, Hma.DEPENDS)
        elif hma is None:
            # A package of its own is missing here, which no catalogue can know.
            assert "lmcache" not in where
        else:
            assert support[name].supports_hma is hma, (name, where)
    lmcache_mp = answer["connectors"]["LMCacheMPConnector"]
    assert lmcache_mp[1] == support["LMCacheMPConnector"].module


def test_multi_connector_as_the_engine_does(known: tuple[str, str], answer: dict[str, Any]) -> None:
    ours = [
        connector_support(*known, "MultiConnector", children=children).supports_hma
        for children in CHILDREN
    ]
    assert ours == answer["multi"] == [True, False, False]


def test_the_installed_source_reads_as_the_wheel_did(
    engine: Engine, known: tuple[str, str]
) -> None:
    assert engine.vllm_package is not None
    data = json.loads(DATA.read_text("utf-8"))
    vllm, lmcache = (
        expand(data, package).get(v) for package, v in zip(PACKAGES, known, strict=True)
    )
    assert vllm is not None
    here = directory_sources("vllm", engine.vllm_package.parent)
    read = vllm_release(here) | {"names": names(here, vllm["names"])}
    assert {"wheel": vllm["wheel"], **read} == vllm
    if engine.lmcache and lmcache:
        there = directory_sources("lmcache", engine.lmcache.location)
        read = lmcache_release(there) | {"names": names(there, lmcache["names"])}
        assert {"wheel": lmcache["wheel"], **read} == lmcache
