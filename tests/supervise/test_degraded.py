"""A server that answers as if nothing had happened, and works without its cache, is told of."""

import signal
from pathlib import Path

from supervised import free_ports, server, supervising

_LINE = (
    "\x1b[31;20m[2026-12-02 10:00:08,123] LMCache ERROR:\x1b[0m Failed to initialize "
    "LMCacheManager components: TypeError. System will operate in degraded mode (recompute)."
)


def test_it_is_said_at_once_and_only_once(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    options = ["--complain", _LINE, "--complain", _LINE]
    with supervising(tmp_path, server("vllm", *options, port=port)) as run:
        run.says("VLLM is healthy")
        run.says("hmactl: LMCache inside vLLM did not start: /health answers 200")
        run.send(signal.SIGTERM)
        assert run.status() == 0
        assert run.stderr.count("hmactl: LMCache inside vLLM did not start") == 1
