"""``hmactl serve`` starts a real server, which comes up as ``hmactl check`` said."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import processes_with
from server import Server, free_port
from tiny_models import write_config

from hmactl.engine.find import Engine

pytestmark = [pytest.mark.serve, pytest.mark.usefixtures("engine")]

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
_START_SECONDS = 300
_CAPACITY = re.compile(
    r"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: "
    r"([\d.]+)x"
)
_GROUPS = re.compile(r"kv cache group sizes \(([^)]*)\)")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with sliding-window and full attention layers, with weights."""
    directory = tmp_path_factory.mktemp("models") / "gemma3"
    subprocess.run([sys.executable, str(_TINY_MODELS), "gemma3", str(directory)], check=True)
    return directory


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


def _profile(directory: Path, model: Path, port: int, more: str) -> Path:
    path = directory / "profile.yaml"
    path.write_text(
        f"model: {model}\n"
        "vllm:\n"
        "  host: 127.0.0.1\n"
        f"  port: {port}\n"
        "  enforce-eager: true\n"
        "  max-model-len: 8192\n"
        "  kv-cache-memory-bytes: 67108864\n"
        "  served-model-name: tiny\n"
        f"target:\n  gpu: cpu\n{more}"
    )
    return path


def _hmactl(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "hmactl", *map(str, arguments)]


def _check(profile: Path, environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        _hmactl("check", "-q", "--format", "json", profile),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    deployment: dict[str, Any] = report["deployments"][0]
    return deployment


@pytest.mark.parametrize(
    ("more", "decision"),
    [
        ("", "keep"),
        ("hma: disable\n", "disable"),
        (
            "connector:\n  name: ExampleConnector\n"
            "  extra_config: {shared_storage_path: STORAGE}\n",
            "disable",
        ),
    ],
    ids=["hma-kept", "hma-disabled", "connector-without-hma"],
)
def test_it_comes_up_as_planned(
    tmp_path: Path,
    model: Path,
    environment: dict[str, str],
    more: str,
    decision: str,
) -> None:
    port = free_port()
    more = more.replace("STORAGE", str(tmp_path / "storage"))
    profile = _profile(tmp_path, model, port, more)
    planned = _check(profile, environment)
    assert planned["verdict"]["decision"] == decision
    side = planned["plan"]["hma_on" if decision == "keep" else "hma_off"]
    # The two states differ, so that a match says which one is running.
    assert planned["plan"]["hma_on"]["tokens"] != planned["plan"]["hma_off"]["tokens"]

    with Server(_hmactl("serve", profile), environment, port, tmp_path / "logs") as server:
        server.wait_healthy(_START_SECONDS)
        (line,) = server.grep("KV cache size")
        found = _CAPACITY.search(line)
        assert found is not None
        tokens, length, concurrency = found.groups()
        assert int(tokens.replace(",", "")) == side["tokens"]
        assert int(length.replace(",", "")) == side["max_model_len"] == 8192
        assert float(concurrency) == pytest.approx(side["max_concurrency"], abs=0.005)
        groups = [_GROUPS.search(text) for text in server.grep("kv cache group sizes")]
        sizes = [g[1].split(", ") for g in groups if g is not None] or [["one"]]
        assert len(sizes[0]) == len(side["groups"])
        # vLLM says so when HMA is off although the model would profit from it.
        off = server.grep("Hybrid KV cache manager is disabled for this hybrid model")
        assert bool(off) is (decision == "disable")
        if "ExampleConnector" in more:
            assert server.grep("Creating v1 connector with name: ExampleConnector")
        answer = server.complete("tiny", "hi" * 20)
        assert answer["usage"]["completion_tokens"] == 4
        assert _verify(profile, environment) == 0
        other = tmp_path / "other.yaml"
        other.write_text(profile.read_text().replace("67108864", "50331648"))
        assert _verify(other, environment) == 1
        assert server.stop() == 0
        assert server.leftovers() == []
    assert _verify(profile, environment) == 2


def _verify(profile: Path, environment: dict[str, str]) -> int:
    """What `hmactl verify` ends with: as planned, other than planned, or no server."""
    command = _hmactl("verify", "-q", "--once", profile)
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """A profile of a GDN hybrid with a connector that does not support HMA."""
    model = tmp_path / "qwen3-next"
    model.mkdir()
    write_config("qwen3_next", model)
    storage = "connector:\n  name: ExampleConnector\n  extra_config: {shared_storage_path: s}\n"
    return _profile(tmp_path, model, free_port(), storage)


def test_a_refused_deployment_is_not_launched(refused: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        _hmactl("serve", refused),
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 1
    assert "error[HMA002]" in done.stderr
    assert "not launched" in done.stderr
    assert done.stdout == ""  # the server, had it been started, logs to stdout


def test_force_writes_down_the_reason(refused: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        _hmactl("serve", "--dry-run", "--force", "I know better", refused),
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0
    assert "because: I know better" in done.stderr
    assert "vllm" in done.stdout
    assert "hybrid-kv-cache-manager" not in done.stdout


def test_a_dry_run_can_be_pasted(
    tmp_path: Path, model: Path, environment: dict[str, str], engine: Engine
) -> None:
    profile = _profile(tmp_path, model, free_port(), "")
    done = subprocess.run(
        _hmactl("serve", "--dry-run", "-q", profile, "--", "--seed", "7"),
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert "--seed 7" in done.stdout
    # The shell makes of it what would have been executed: here, with a harmless program instead.
    script = done.stdout.replace(str(engine.vllm_script), "printf '%s\\n'")
    words = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert words[:2] == ["serve", str(model)]
    assert words[-3:] == ["--seed", "7", "--no-disable-hybrid-kv-cache-manager"]


def test_sigterm_reaches_a_server_that_is_still_starting(
    tmp_path: Path, model: Path, environment: dict[str, str]
) -> None:
    """The check itself can be interrupted, and its dry boot goes with it."""
    profile = _profile(tmp_path, model, free_port(), "")
    process = subprocess.Popen(
        _hmactl("serve", profile),
        env={**environment, "MARKER": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "asking vLLM" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode != 0
    deadline = time.monotonic() + 5
    while (left := processes_with(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
