"""``hmactl render`` as an operator types it, by the catalogue: no engine is asked."""

import json
import os
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from hmactl.cli import main
from hmactl.cli.schema import schema_text
from hmactl.launch.render.forms import FORMATS

PROFILE = """
model: openai/gpt-oss-20b
vllm: {max-model-len: 8192, api-key: sk-verysecret}
connector:
  name: OffloadingConnector
  extra_config: {cpu_bytes_to_use: 4294967296, cache.password: hunter2}
env: {HF_TOKEN: hf_abcdefghijklmnopqrst, STORE_URL: "redis://u:pw123@h:1"}
target: {gpu: H100-80GB, vllm: "0.32.0", memory_limit: 64 GiB, shm: 8 GiB}
"""
SECRETS = ("sk-verysecret", "hunter2", "hf_abcdefgh", "pw123")
SERVER = """
model: Qwen/Qwen3-14B
connector: LMCacheMPConnector
lmcache_server: {start: true, l1-size-gb: 20, eviction-policy: LRU, port: 5555}
target: {gpu: H100-80GB, vllm: "0.32.0", lmcache: "0.5.6"}
"""


def _render(directory: Path, *arguments: str, profile: str = PROFILE) -> Result:
    (directory / "p.yaml").write_text(profile)
    return CliRunner().invoke(
        main, ["render", str(directory / "p.yaml"), "--from-catalogue", *arguments]
    )


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_in_any_form_and_each_is_named(tmp_path: Path, form: str) -> None:
    result = _render(tmp_path, "--format", form)
    assert result.exit_code == 0, result.output
    assert not [secret for secret in SECRETS if secret in result.output]
    assert "--no-disable-hybrid-kv-cache-manager" in result.stdout
    for name in ("HF_TOKEN", "STORE_URL"):
        assert name in result.stdout
        assert name in result.stderr


def test_json_follows_its_schema(tmp_path: Path) -> None:
    schema = Draft202012Validator(json.loads(schema_text("launch")))
    schema.validate(json.loads(_render(tmp_path, "--format", "json").stdout))
    document = json.loads(_render(tmp_path, "--format", "json", profile=SERVER).stdout)
    schema.validate(document)
    assert document["companions"][0]["argv"][:2] == ["lmcache", "server"]
    assert document["companions"][0]["memory"] == 20 * 2**30
    assert document["limits"] == {
        "gpus": 1,
        "gpu": "NVIDIA H100 80GB HBM3",
        "memory_limit": None,
        "shm": None,
        "memlock": None,
    }


def test_the_image_is_that_of_the_release_that_was_judged(tmp_path: Path) -> None:
    result = _render(tmp_path, "--format", "compose")
    (service,) = yaml.safe_load(result.stdout)["services"].values()
    assert service["image"] == "vllm/vllm-openai:v0.32.0"
    assert service["shm_size"] == "8g"
    resources = service["deploy"]["resources"]
    assert resources["limits"]["memory"] == "64g"
    assert resources["reservations"]["memory"] == "4g"


@pytest.mark.parametrize(
    ("profile", "arguments", "why"),
    [
        (SERVER, ("--format", "compose"), "no published image says that it holds vLLM 0.32.0"),
        (
            "model: Qwen/Qwen3-14B\n",
            ("--format", "kubernetes"),
            "the version of vLLM is not known",
        ),
        (
            PROFILE,
            ("--format", "compose", "--image", "vllm/vllm-openai:v0.31.0"),
            "holds vLLM 0.31.0, and what was checked is vLLM 0.32.0",
        ),
        (PROFILE, ("--format", "shell", "--image", "x:1"), "--image is for containers"),
        (PROFILE, ("--format", "env", "--", "--disable-hybrid-kv-cache-manager"), "decision"),
        (PROFILE, ("--format", "env", "--", "--port", "1"), "judges the source alone"),
        (PROFILE + "---" + PROFILE, ("--format", "env"), "holds 2 deployments"),
    ],
)
def test_what_is_not_certain_is_not_rendered(
    tmp_path: Path, profile: str, arguments: tuple[str, ...], why: str
) -> None:
    result = _render(tmp_path, *arguments, profile=profile)
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_refused_deployment_is_only_rendered_by_force(tmp_path: Path) -> None:
    script = tmp_path / "s.sh"
    script.write_text("vllm serve openai/gpt-oss-20b $MORE\n")
    arguments = ["render", str(script), "--from-catalogue", "--format", "shell"]
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "--set MORE=... supplies it" in refused.stderr
    forced = CliRunner().invoke(main, [*arguments, "--force", "a test"])
    assert forced.exit_code == 0
    assert "rendered in spite of the above, because: a test" in forced.stderr


def test_files_go_where_they_shall_and_over_none(tmp_path: Path) -> None:
    out, single = str(tmp_path / "units"), str(tmp_path / "run.sh")
    result = _render(tmp_path, "--format", "systemd", "-o", out, profile=SERVER)
    assert result.exit_code == 0
    assert {path.name for path in Path(out).iterdir()} == {"p.service", "p-lmcache.service"}
    assert _render(tmp_path, "--format", "shell", "-o", single).exit_code == 0
    assert Path(single).read_text().startswith("#!/usr/bin/env bash\n")
    for arguments in (("shell", "-o", single), ("systemd", "-o", out)):
        again = _render(tmp_path, "--format", *arguments, profile=SERVER)
        assert again.exit_code == 2
        assert "--overwrite replaces it" in again.stderr
        over = _render(tmp_path, "--format", *arguments, "--overwrite", profile=SERVER)
        assert over.exit_code == 0
    wrong = _render(tmp_path, "--format", "systemd", "-o", single, profile=SERVER)
    assert (wrong.exit_code, "is no directory" in wrong.stderr) == (2, True)


def test_variables_that_the_check_saw_here_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.setitem(os.environ, "UNRELATED", "1")
    result = _render(tmp_path, "--format", "env")
    assert "VLLM_LOGGING_LEVEL=DEBUG\n" in result.stdout
    assert "UNRELATED" not in result.stdout
    assert "taken over from this environment: VLLM_LOGGING_LEVEL" in result.stderr


def test_a_host_by_name_is_a_service_of_that_name(tmp_path: Path) -> None:
    named = SERVER.replace(
        "connector: LMCacheMPConnector",
        "connector: {name: LMCacheMPConnector, extra_config: {lmcache.mp.host: tcp://cache}}",
    )
    result = _render(tmp_path, "--format", "compose", "--image", "x:1", profile=named)
    services = yaml.safe_load(result.stdout)["services"]
    assert list(services) == ["cache", "p"]
    assert services["p"]["depends_on"] == {"cache": {"condition": "service_healthy"}}
    assert "network_mode" not in services["p"]
    local = _render(tmp_path, "--format", "compose", "--image", "x:1", profile=SERVER)
    assert yaml.safe_load(local.stdout)["services"]["p"]["network_mode"] == "host"


def test_a_server_at_an_address_elsewhere_is_not_rendered(tmp_path: Path) -> None:
    elsewhere = SERVER.replace(
        "connector: LMCacheMPConnector",
        "connector: {name: LMCacheMPConnector, extra_config: {lmcache.mp.host: tcp://10.0.0.7}}",
    )
    result = _render(tmp_path, "--format", "compose", "--image", "x:1", profile=elsewhere)
    assert list(yaml.safe_load(result.stdout)["services"]) == ["p"]
    assert "expected to run already" in result.stderr
