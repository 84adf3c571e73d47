"""The data files that tools/catalogue writes say what the source of installed releases says.

The installed ones are always read, other vLLMs where HMACTL_TEST_PYTHONS names their interpreters.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue import lmcache, lmcache_server, transfer

from hmactl.catalogue.source.modules import directory_sources
from hmactl.engine.find import Engine, find_engine

pytestmark = pytest.mark.engine

DATA = Path(__file__).parents[2] / "hmactl" / "catalogue" / "data"
OTHERS = [python for python in os.environ.get("HMACTL_TEST_PYTHONS", "").split(":") if python]


def _hold_vllm(engine: Engine) -> None:
    assert engine.vllm is not None
    assert engine.vllm_package is not None
    known = transfer.table(DATA).read()[engine.vllm.version.partition("+")[0]]
    read = transfer.read(directory_sources("vllm", engine.vllm_package.parent))
    assert {"wheel": known["wheel"], **read} == known


def test_kv_transfer(engine: Engine) -> None:
    _hold_vllm(engine)


@pytest.mark.parametrize("python", OTHERS)
def test_kv_transfer_of_other_releases(python: str) -> None:
    _hold_vllm(find_engine(python, timeout=120))


def test_lmcache(engine: Engine) -> None:
    assert engine.lmcache is not None
    sources = directory_sources("lmcache", engine.lmcache.location)
    for part in (lmcache, lmcache_server):
        known = part.table(DATA).read()[engine.lmcache.version]
        assert {"wheel": known["wheel"], **part.read(sources)} == known
