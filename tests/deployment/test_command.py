"""The command line and environment that a deployment means, word for word."""

import json

import pytest

from hmactl.deployment.command import flag_arguments, serve_arguments, serve_environment
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import DEFAULT, Json, Setting


def _settings(values: dict[str, Json]) -> tuple[Setting, ...]:
    return tuple(Setting(name, value, DEFAULT) for name, value in values.items())


@pytest.mark.parametrize(
    ("name", "value", "arguments"),
    [
        ("enforce-eager", True, ["--enforce-eager"]),
        ("enforce-eager", None, ["--enforce-eager"]),
        ("enable-prefix-caching", False, ["--no-enable-prefix-caching"]),
        ("max-model-len", 75000, ["--max-model-len", "75000"]),
        ("seed", -1, ["--seed=-1"]),
        ("gpu-memory-utilization", 0.18, ["--gpu-memory-utilization", "0.18"]),
        ("swap-space", 4.0, ["--swap-space", "4.0"]),
        ("dtype", "auto", ["--dtype", "auto"]),
        ("served-model-name", ["a", "b c"], ["--served-model-name", "a", "b c"]),
        ("chat-template", "--x", ["--chat-template=--x"]),
        ("hf-overrides", {"a": [1, None]}, ["--hf-overrides", '{"a": [1, null]}']),
        ("lora-modules", [{"name": "a"}], ["--lora-modules", '{"name": "a"}']),
        ("tokenizer", "", ["--tokenizer", ""]),
    ],
)
def test_one_option(name: str, value: Json, arguments: list[str]) -> None:
    assert flag_arguments(name, value) == arguments


def test_the_model_then_options_as_written_then_the_connector() -> None:
    deployment = Deployment(
        source="a.yaml",
        name="a",
        model=Setting("model", "google/gemma-3-4b-it", DEFAULT),
        vllm=_settings({"seed": 1, "enforce-eager": True, "dtype": "bfloat16"}),
        connector=Connector("LMCacheConnectorV1", DEFAULT),
    )
    assert serve_arguments(deployment) == [
        "google/gemma-3-4b-it",
        "--seed",
        "1",
        "--enforce-eager",
        "--dtype",
        "bfloat16",
        "--kv-transfer-config",
        '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}',
    ]


def test_a_connector_with_everything() -> None:
    connector = Connector(
        name="MultiConnector",
        origin=DEFAULT,
        role="kv_producer",
        module_path="my.module",
        extra_config={"a": 1},
        options={"engine_id": "x"},
        children=(
            Connector("OffloadingConnector", DEFAULT, extra_config={"cpu_bytes_to_use": 5}),
            Connector("NixlConnector", DEFAULT, role="kv_consumer"),
        ),
    )
    deployment = Deployment("a", "a", Setting("model", "m", DEFAULT), connector=connector)
    model, flag, value = serve_arguments(deployment)
    assert (model, flag) == ("m", "--kv-transfer-config")
    assert json.loads(value) == {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_producer",
        "kv_connector_module_path": "my.module",
        "kv_connector_extra_config": {
            "a": 1,
            "connectors": [
                {
                    "kv_connector": "OffloadingConnector",
                    "kv_role": "kv_both",
                    "kv_connector_extra_config": {"cpu_bytes_to_use": 5},
                },
                {"kv_connector": "NixlConnector", "kv_role": "kv_consumer"},
            ],
        },
        "engine_id": "x",
    }


def test_the_environment() -> None:
    deployment = Deployment(
        source="a.yaml",
        name="a",
        model=Setting("model", "m", DEFAULT),
        lmcache=_settings(
            {
                "chunk_size": 256,
                "local_cpu": True,
                "max_local_cpu_size": 20.0,
                "remote_url": None,
                "blend_special_str": " # # ",
                "nixl_peers": ["a", "b"],
                "extra_config": {"k": [1]},
            }
        ),
        env=_settings({"PYTHONHASHSEED": 0, "EMPTY": "", "FLAG": True, "LMCACHE_CHUNK_SIZE": "1"}),
    )
    assert serve_environment(deployment) == {
        "LMCACHE_CHUNK_SIZE": "1",
        "LMCACHE_LOCAL_CPU": "true",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "20.0",
        "LMCACHE_BLEND_SPECIAL_STR": " # # ",
        "LMCACHE_NIXL_PEERS": "a,b",
        "LMCACHE_EXTRA_CONFIG": '{"k": [1]}',
        "PYTHONHASHSEED": "0",
        "EMPTY": "",
        "FLAG": "true",
    }


def test_no_connector_and_no_settings() -> None:
    deployment = Deployment("a", "a", Setting("model", "m", DEFAULT))
    assert serve_arguments(deployment) == ["m"]
    assert serve_environment(deployment) == {}
