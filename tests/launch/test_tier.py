"""What is stored outside the GPU, as far as it can be asked."""

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmactl.engine.answer import Answer, ConnectorAnswer, LMCacheSettings, Versions
from hmactl.facts.facts import Facts
from hmactl.launch.verify.server import Server
from hmactl.launch.verify.tier import DiskTier, LMCacheTier, Stored, planned_tier
from hmactl.sources.profile import read_profiles

_L1 = {"memory_used_bytes": 4096, "total_object_count": 3, "memory_total_bytes": 8192}


class _Status(http.server.ThreadingHTTPServer):
    body = b"{}"


class _Answers(http.server.BaseHTTPRequestHandler):
    server: _Status

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/status" else 404)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def status() -> Iterator[_Status]:
    with _Status(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # LMCache 0.5.6, and releases before it had several.
        ({"storage_manager": {"l1_managers": {"a": _L1}, "l1_manager": _L1}}, Stored(4096, 3)),
        ({"storage_manager": {"l1_managers": {"a": _L1, "b": _L1}}}, Stored(8192, 6)),
        ({"storage_manager": {"l1_manager": _L1}}, Stored(4096, 3)),
        ({"storage_manager": {"l1_manager": {"memory_used_bytes": "much"}}}, None),
        ({"storage_manager": []}, None),
        ([], None),
    ],
)
def test_an_lmcache_server(status: _Status, answer: Any, expected: Stored | None) -> None:
    status.body = json.dumps(answer).encode()
    assert LMCacheTier(Server(f"http://127.0.0.1:{status.server_port}")).stored() == expected


def test_one_that_does_not_answer() -> None:
    assert LMCacheTier(Server("http://127.0.0.1:9", timeout=1)).stored() is None


def test_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_bytes(b"x" * 100)
    (tmp_path / "2").write_bytes(b"x" * 50)
    assert DiskTier(tmp_path).stored() == Stored(150, 2)
    assert DiskTier(tmp_path / "absent").stored() is None


def _facts(profile: str, name: str, settings: dict[str, Any] | None = None) -> Facts:
    (document,) = read_profiles("p.yaml", f"{{model: m, {profile}}}")
    assert document.deployment is not None
    versions = Versions(
        vllm="0.32.0",
        vllm_path="",
        lmcache="0.5.6",
        torch="",
        transformers=None,
        python="",
        python_path="",
    )
    connector = ConnectorAnswer(
        name=name,
        role="kv_both",
        module=None,
        class_=None,
        file=None,
        supports_hma=None,
        error=None,
    )
    answer = Answer(error=None, versions=versions, connector=connector)
    if settings is not None:
        lmcache = LMCacheSettings(values=settings, defaults={}, unknown={})
        answer = replace(answer, lmcache=lmcache)
    return Facts(document.deployment, answer, None, None, None)


_MP = "connector: {name: LMCacheMPConnector, extra_config: {lmcache.mp.host: 'tcp://cache-1'}}"


def test_the_tier_of_a_deployment() -> None:
    here, there = Server("http://localhost:8000"), Server("http://vllm:8000")
    mp = "LMCacheMPConnector"
    described = _facts(f"{_MP}, lmcache_server: {{http-port: 6580}}", mp)
    assert planned_tier(described, there) == LMCacheTier(Server("http://cache-1:6580"))
    assert planned_tier(_facts(_MP, mp), here) is None

    v1 = "LMCacheConnectorV1"
    on_disk = _facts(f"connector: {v1}", v1, {"local_disk": "file:///cache/"})
    assert planned_tier(on_disk, here) == DiskTier(Path("/cache"))
    # A directory of that name here is not the server's.
    assert planned_tier(on_disk, there) is None
    assert planned_tier(_facts(f"connector: {v1}", v1, {"local_disk": None}), here) is None
    assert planned_tier(_facts("connector: NixlConnector", "NixlConnector"), here) is None
