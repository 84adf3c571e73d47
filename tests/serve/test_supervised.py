"""``hmactl serve`` as the parent of a real vLLM, and of the LMCache server that it uses."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import processes_with
from server import Server, ServerFailed, free_port

from hmactl.engine.find import Engine

pytestmark = [pytest.mark.serve, pytest.mark.usefixtures("engine")]

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
_START_SECONDS = 400
_SHM = Path("/dev/shm")
_LONG = "hi" * 3000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Path:
    """A model of full attention layers only, which LMCache stores on a CPU, too."""
    if engine.lmcache is None:
        pytest.skip(f"no LMCache is installed for {engine.python}")
    directory = tmp_path_factory.mktemp("models") / "llama"
    subprocess.run([sys.executable, str(_TINY_MODELS), "llama", str(directory)], check=True)
    return directory


def _profile(directory: Path, model: Path, *, companion: bool) -> tuple[Path, int]:
    port, messages, http = free_port(), free_port(), free_port()
    text = (
        f"model: {model}\n"
        f"vllm: {{host: 127.0.0.1, port: {port}, enforce-eager: true, max-model-len: 8192, "
        "kv-cache-memory-bytes: 67108864, served-model-name: tiny}\n"
        "env: {VLLM_SERVER_DEV_MODE: '1'}\n"
        "target: {gpu: cpu}\n"
    )
    if companion:
        text += (
            "connector: {name: LMCacheMPConnector, extra_config: "
            f"{{lmcache.mp.host: 'tcp://127.0.0.1', lmcache.mp.port: {messages}}}}}\n"
            f"lmcache_server: {{start: true, host: 127.0.0.1, port: {messages}, http-port: {http}, "
            "http-host: 127.0.0.1, l1-size-gb: 1, l1-init-size-gb: 1, eviction-policy: LRU, "
            f"supported-transfer-mode: auto, shm-name: test-{os.getpid()}}}\n"
        )
    path = directory / "profile.yaml"
    path.write_text(text)
    return path, port


@contextlib.contextmanager
def _served(directory: Path, model: Path, *, companion: bool) -> Iterator[Server]:
    """A healthy server; afterwards nothing may be left of it."""
    profile, port = _profile(directory, model, companion=companion)
    marker = str(directory)
    # The path of a socket must be short.
    temporary = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HMACTL_SERVE_SUPERVISE": "1",
        "MARKER": marker,
        "TMPDIR": str(temporary),
    }
    argv = [sys.executable, "-m", "hmactl", "serve", str(profile)]
    try:
        with Server(argv, environment, port, directory / "logs") as server:
            server.wait_healthy(_START_SECONDS)
            deadline = time.monotonic() + 30
            while not server.grep("hmactl: vLLM is healthy"):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            pids = processes_with(marker)
            yield server
            assert processes_with(marker) == []
            assert [file for pid in pids for file in _SHM.glob(f"lmcache_kv_{pid}_*")] == []
            assert list(_SHM.glob(f"lmcache_l1_pool_*{os.getpid()}")) == []
            assert list(temporary.glob("hmactl-*")) == []
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for pid in processes_with(marker):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _pid_of(server: Server, title: str) -> int:
    (line,) = server.grep(f"started {title}, process")
    return int(line.rpartition(" ")[2])


def _post(port: int, path: str) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", b"", method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def _external_hits(server: Server) -> float:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    (hits,) = re.findall(r"^vllm:external_prefix_cache_hits_total\{.*\} (.+)$", text, re.MULTILINE)
    return float(hits)


def test_the_cache_of_its_own_lmcache_server_is_used_and_a_stop_leaves_nothing(
    tmp_path: Path, model: Path
) -> None:
    with _served(tmp_path, model, companion=True) as server:
        cold = server.complete("tiny", _LONG)
        _post(server.port, "/reset_prefix_cache")
        assert _external_hits(server) == 0
        assert server.complete("tiny", _LONG)["choices"] == cold["choices"]
        # Eleven whole chunks of 256 tokens of which the last token must be computed.
        assert _external_hits(server) == 11 * 256
        assert server.grep(r"^\[vllm\] .*Application startup complete")
        assert server.grep(r"^\[lmcache\] ")
        assert server.stop(60) == 0


def test_the_workers_of_a_killed_api_server_are_ended(tmp_path: Path, model: Path) -> None:
    with _served(tmp_path, model, companion=False) as server:
        # One process: its output is not marked, and a log's readers find it as they know it.
        assert server.grep(r"^\(APIServer pid=\d+\) INFO .*Application startup complete") or (
            server.grep(r"^INFO:.*Application startup complete")
        )
        workers = processes_with(str(tmp_path))
        assert len(workers) > 2
        os.kill(_pid_of(server, "vLLM"), signal.SIGKILL)
        assert server.wait(60) == 137
        assert server.grep("hmactl: vLLM was ended by SIGKILL, which hmactl did not send")


def test_an_lmcache_server_that_dies_under_load_ends_the_engine_in_order(
    tmp_path: Path, model: Path
) -> None:
    with _served(tmp_path, model, companion=True) as server:
        done = threading.Event()

        def load() -> None:
            number = 0
            while not done.is_set():
                number += 1
                with contextlib.suppress(ServerFailed, OSError, json.JSONDecodeError):
                    server.complete("tiny", f"{number}{_LONG}")

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(2)
            os.kill(_pid_of(server, "the LMCache server"), signal.SIGKILL)
            assert server.wait(90) == 1
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert server.grep("hmactl: the LMCache server was ended by SIGKILL, .* no cache")
