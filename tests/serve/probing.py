"""A real server with a connector, and what `hmactl verify --probe` says of it."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server import Server, free_port

_TINY_MODELS = Path(__file__).parent.parent / "tiny_models.py"
_HMACTL = (sys.executable, "-m", "hmactl")
_START_SECONDS = 400
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
MIB = 1 << 20


@dataclass(frozen=True)
class Verified:
    """The exit status, and each thing that was held against the plan by its id."""

    status: int
    said: Mapping[str, Mapping[str, Any]]
    failure: str | None

    def states(self) -> dict[str, str]:
        """What is as planned and what differs."""
        return {id_: one["state"] for id_, one in self.said.items() if one["state"] != "unknown"}

    def tokens(self, id_: str) -> int:
        """The leading number of what was found."""
        return int(self.said[id_]["found"].split()[0].replace(",", ""))


@dataclass(frozen=True)
class Probed:
    """A running server that was started with `hmactl serve` from ``profile``."""

    server: Server
    profile: Path
    environment: Mapping[str, str]
    logs: tuple[Path, Path]

    def verify(self, *options: str, plan: bool = True) -> Verified:
        """What `hmactl verify --format json` says, with its plan or of the address alone."""
        target = str(self.profile) if plan else self.server.url
        done = subprocess.run(
            [*_HMACTL, "verify", "-q", "--format", "json", "--once", *options, target],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.stdout, done.stderr
        answer = json.loads(done.stdout)
        said = {one["id"]: one for one in answer["comparisons"]}
        return Verified(done.returncode, said, answer["failure"])

    def log_options(self) -> tuple[str, ...]:
        """Both logs, as options of `hmactl verify`."""
        return tuple(word for path in self.logs for word in ("--log", str(path)))


def tiny_model(name: str, directory: Path) -> Path:
    """A model of tests/tiny_models.py, with weights."""
    subprocess.run([sys.executable, str(_TINY_MODELS), name, str(directory / name)], check=True)
    return directory / name


@contextlib.contextmanager
def probed(
    directory: Path, model: Path, more: str, *, kv_cache: int = 64 * MIB, **env: str
) -> Iterator[Probed]:
    """Serve a model as a profile with the lines of ``more`` says, in vLLM's development mode.

    ``env`` is added to the environment of the server and of what is asked about it.
    """
    port = free_port()
    directory.mkdir(parents=True, exist_ok=True)
    profile = directory / "profile.yaml"
    profile.write_text(
        f"model: {model}\n"
        f"vllm: {{host: 127.0.0.1, port: {port}, enforce-eager: true, max-model-len: 9000, "
        f"kv-cache-memory-bytes: {kv_cache}, served-model-name: tiny}}\n"
        f"env: {{VLLM_SERVER_DEV_MODE: '1'}}\ntarget: {{gpu: cpu}}\n{more}"
    )
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        # `serve` and `verify` ask the engine once between them.
        "XDG_CACHE_HOME": str(directory / "cache"),
        **env,
    }
    logs = directory / "logs"
    argv = [*_HMACTL, "serve", "-q", "--force", "a test", str(profile)]
    with Server(argv, environment, port, logs) as server:
        server.wait_healthy(_START_SECONDS)
        yield Probed(server, profile, environment, (logs / "stdout.log", logs / "stderr.log"))


@dataclass(frozen=True)
class LMCacheServer:
    """A running `lmcache server`: where it is asked for chunks, and over HTTP."""

    port: int
    http_port: int

    def profile(self, extra: str = "") -> str:
        """The connector to it, as lines of a profile."""
        return (
            "connector: {name: LMCacheMPConnector, extra_config: {lmcache.mp.host: "
            f"'tcp://127.0.0.1', lmcache.mp.port: {self.port}{extra}}}}}\n"
            f"lmcache_server: {{start: false, host: 127.0.0.1, port: {self.port}, "
            f"http-host: 127.0.0.1, http-port: {self.http_port}, l1-size-gb: 1, "
            "eviction-policy: LRU, supported-transfer-mode: auto}\n"
        )


@contextlib.contextmanager
def lmcache_server(script: Path, directory: Path) -> Iterator[LMCacheServer]:
    """A server that works without a GPU."""
    port, http_port = free_port(), free_port()
    name = f"probe-{os.getpid()}"
    argv = [
        *(str(script), "server", "--host", "127.0.0.1", "--port", str(port)),
        *("--http-host", "127.0.0.1", "--http-port", str(http_port)),
        *("--l1-size-gb", "1", "--l1-init-size-gb", "1", "--eviction-policy", "LRU"),
        *("--supported-transfer-mode", "auto", "--shm-name", name),
    ]
    try:
        with Server(argv, os.environ, http_port, directory) as server:
            deadline = time.monotonic() + 180
            while not _answers(f"{server.url}/healthcheck"):
                assert time.monotonic() < deadline, server.grep("rror")
                time.sleep(0.2)
            yield LMCacheServer(port, http_port)
    finally:
        for left in Path("/dev/shm").glob(f"*{name}*"):
            left.unlink(missing_ok=True)


def _answers(url: str) -> bool:
    try:
        _OPENER.open(url, timeout=5).close()
    except OSError:
        return False
    return True


def offloading_plugin(directory: Path) -> dict[str, str]:
    """The environment in which vLLM finds plugin/cpu_copies.py as an installed plugin."""
    name = "cpu_copies"
    info = directory / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{name} = {name}:register\n")
    paths = [str(Path(__file__).parent / "plugin"), str(directory)]
    return {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]).strip(":")}


def counts(server: Server) -> dict[str, int]:
    """The prompt tokens that were queried, and found on the GPU and outside it."""
    with _OPENER.open(f"{server.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    names = {"external": "external_prefix_cache_hits", "local": "prefix_cache_hits"}
    return {
        what: int(sum(float(s.split()[-1]) for s in lines if s.startswith(f"vllm:{name}_total{{")))
        for what, name in names.items()
    }
