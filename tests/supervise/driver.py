"""Supervise what a JSON file describes: a process of its own, because it waits for all children."""

import json
import os
import sys
from pathlib import Path

from hmactl.launch.supervise.health import Health
from hmactl.launch.supervise.run import supervise
from hmactl.launch.supervise.service import Service


def main() -> None:
    """Exit as ``hmactl serve --supervise`` would."""
    given = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    services = [
        Service(
            one["name"],
            one["name"].upper(),
            tuple(one["argv"]),
            {**os.environ, **one.get("env", {})},
            Health("127.0.0.1", one["port"], ("/health", "/other")) if one.get("port") else None,
            one.get("start_seconds", 20.0),
            one.get("stop_seconds", 5.0),
        )
        for one in given["services"]
    ]
    status = 0
    for _ in range(given.get("repeat", 1)):
        ending = supervise(
            services,
            outputs=(1, 2),
            scratch=Path(given["scratch"]),
            pool=given.get("pool"),
            style=lambda text, _name: text,
        )
        status = ending.status
        if "repeat" in given:
            sys.stdout.write(f"open files: {len(list(Path('/proc/self/fd').iterdir()))}\n")
    sys.exit(status)


main()
