"""The server helper tells a dead server from a slow one, and leaves nothing running."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from server import Server, ServerFailed, free_port

# Healthy at once; SIGTERM is ignored on demand, and there is a child that never ends.
_STUBBORN = """
import http.server, signal, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
if sys.argv[2] == "ignore":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def do_POST(self):
        self.send_error(500, "engine dead")
    def log_message(self, *args):
        pass
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def _serve(directory: Path, *arguments: str, code: str = _STUBBORN) -> Server:
    port = free_port()
    argv = [sys.executable, "-c", code, str(port), *arguments]
    return Server(argv, os.environ, port, directory)


def test_a_server_that_ends_is_noticed_at_once(tmp_path: Path) -> None:
    started = time.monotonic()
    code = "import sys; sys.exit('no such model')"
    with (
        _serve(tmp_path, code=code) as server,
        pytest.raises(ServerFailed, match=r"ended with 1\s+no such model"),
    ):
        server.wait_healthy(60)
    assert time.monotonic() - started < 30


def test_a_server_that_is_too_slow_is_given_up_and_ended(tmp_path: Path) -> None:
    with (
        _serve(tmp_path, code="import time; time.sleep(600)") as server,
        pytest.raises(ServerFailed, match=r"no /health within 0\.5 s"),
    ):
        server.wait_healthy(0.5)
    assert server.leftovers() == []


def test_a_child_that_outlives_its_server_is_seen_and_ended(tmp_path: Path) -> None:
    with _serve(tmp_path, "obey") as server:
        assert server.wait_healthy(60) < 60
        assert server.grep("^serving$") == ["serving"]
        assert server.pid in server.session()
        with pytest.raises(ServerFailed, match=r"500: (.|\s)*engine dead"):
            server.complete("tiny", "hi")
        assert server.stop() == -signal.SIGTERM
        assert len(server.leftovers(0.5)) == 1
    assert server.leftovers() == []


def test_a_server_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    with _serve(tmp_path, "ignore") as server:
        server.wait_healthy(60)
        assert server.stop(grace=0.5) == -signal.SIGKILL
        assert server.leftovers() == []


def test_ignored_signals_are_not_inherited(tmp_path: Path) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, flush=True)"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _serve(tmp_path, code=code) as server, pytest.raises(ServerFailed, match="ended"):
            server.wait_healthy(60)
        assert server.grep("True")
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
