"""The profiles that ship with hmactl read without a finding, and mean what they say."""

from pathlib import Path

import pytest

from hmactl.deployment.command import serve_arguments, serve_environment
from hmactl.deployment.deployment import Deployment
from hmactl.sources.profile import read_profile_file

_PROFILES = Path(__file__).parents[2] / "profiles"


def _deployment(name: str) -> Deployment:
    (document,) = read_profile_file(_PROFILES / f"{name}.yaml")
    assert document.findings == ()
    assert document.deployment is not None
    return document.deployment


@pytest.mark.parametrize("path", sorted(_PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_reads_without_a_finding(path: Path) -> None:
    assert _deployment(path.stem).name == path.stem
    assert path.read_text("utf-8").startswith("# ")


def test_there_are_seven() -> None:
    assert len(list(_PROFILES.glob("*.yaml"))) == 7


def test_gemma_with_lmcache() -> None:
    deployment = _deployment("gemma-3-4b-lmcache")
    assert serve_arguments(deployment) == [
        "google/gemma-3-4b-it",
        "--max-model-len",
        "75000",
        "--gpu-memory-utilization",
        "0.18",
        "--enforce-eager",
        "--kv-transfer-config",
        '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}',
    ]
    assert serve_environment(deployment) == {
        "LMCACHE_CHUNK_SIZE": "256",
        "LMCACHE_LOCAL_CPU": "true",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "20.0",
        "LMCACHE_USE_LAYERWISE": "true",
        "PYTHONHASHSEED": "0",
    }


def test_gemma_with_two_connectors() -> None:
    assert serve_arguments(_deployment("gemma-3-4b-multi"))[-1] == (
        '{"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": '
        '{"connectors": [{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", '
        '"kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184}}, '
        '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}]}}'
    )


def test_qwen_with_a_server() -> None:
    deployment = _deployment("qwen3-next-80b-lmcache-mp")
    server = deployment.lmcache_server
    assert server is not None
    assert server.start is False
    assert {s.name: s.value for s in server.options} == {
        "host": "localhost",
        "port": 5555,
        "chunk-size": 272,
        "separate-object-groups": True,
        "l1-size-gb": 60,
        "eviction-policy": "LRU",
    }
    assert deployment.connector is not None
    assert deployment.connector.extra_config == {
        "lmcache.mp.host": "tcp://localhost",
        "lmcache.mp.port": 5555,
    }


def test_tiny() -> None:
    assert serve_arguments(_deployment("tiny-cpu")) == [
        "./tiny-gemma3",
        "--host",
        "127.0.0.1",
        "--port",
        "8431",
        "--enforce-eager",
        "--max-model-len",
        "8192",
        "--kv-cache-memory-bytes",
        "67108864",
    ]
