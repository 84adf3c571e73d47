"""How long a lint of one file takes, beside what it cannot avoid. Run by hand.

    python benchmarks/lint_speed.py [--rounds 30] [--uncompiled]

Compares with starting Python and with importing click and PyYAML, which every lint does. The rounds
are interleaved, so that what else the machine does falls on all alike. Modules are compiled once
before, as pip does when it installs them; ``--uncompiled`` measures a checkout whose modules are
compiled anew by every run.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TIMES_PASS = 8  # what a lint of one profile may take, beside the imports
PROFILE = """\
model: google/gemma-3-4b-it
vllm: {max-model-len: 75000, gpu-memory-utilization: 0.18}
connector: LMCacheConnectorV1
lmcache: {chunk_size: 256, max_local_cpu_size: 20.0}
target: {gpu: H100-80GB-SXM, vllm: "0.32.0", lmcache: "0.5.6"}
"""
SCRIPT = """\
#!/bin/bash
export LMCACHE_CHUNK_SIZE=256
vllm serve google/gemma-3-4b-it --max-model-len 75000 \\
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
"""
MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.32.0
      args: [google/gemma-3-4b-it, --max-model-len, "75000"]
      resources: {limits: {nvidia.com/gpu: 1, memory: 32Gi}}
"""


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run."""

    cpu: float
    wall: float


def run(argv: list[str], environment: dict[str, str]) -> Took:
    """Run a command once; exit status 0 and 1 are both an answer."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.decode())
    return Took(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall)


def commands(directory: Path) -> dict[str, list[str]]:
    """What is compared, by its name."""
    python, hmactl = sys.executable, [sys.executable, "-m", "hmactl"]
    files = {"profile": PROFILE, "script": SCRIPT, "manifest": MANIFEST}
    for name, text in files.items():
        (directory / name).write_text(text, "utf-8")
    return {
        "python -c pass": [python, "-c", "pass"],
        "import click, yaml": [python, "-c", "import click, yaml"],
        "hmactl --help": [*hmactl, "--help"],
        **{f"hmactl lint ({n})": [*hmactl, "lint", "-q", str(directory / n)] for n in files},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--uncompiled", action="store_true")
    options = parser.parse_args()
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        environment["PYTHONPYCACHEPREFIX"] = str(directory / "compiled")
        asked = commands(directory)
        for argv in asked.values():
            run(argv, environment)
        if options.uncompiled:
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        took: dict[str, list[Took]] = {one: [] for one in asked}
        for _ in range(options.rounds):
            for one, argv in asked.items():
                took[one].append(run(argv, environment))
    report(took)


def report(took: dict[str, list[Took]]) -> None:
    """Milliseconds, and how many times what starting Python takes."""
    least = {name: min(one.cpu for one in runs) for name, runs in took.items()}
    start, imports, *_ = least.values()
    print(
        f"{'':24}{'CPU least':>10}{'median':>8}{'ratio':>8}{'wall least':>12}{'median':>8}   (ms)"
    )
    for name, runs in took.items():
        cpu, wall = [one.cpu for one in runs], [one.wall for one in runs]
        figures = (least[name] * 1000, statistics.median(cpu) * 1000, least[name] / start)
        walls = (min(wall) * 1000, statistics.median(wall) * 1000)
        print(
            f"{name:24}{figures[0]:10.0f}{figures[1]:8.0f}{figures[2]:8.1f}"
            f"{walls[0]:12.0f}{walls[1]:8.0f}"
        )
    allowed = TIMES_PASS * start + imports - start
    share = least["hmactl lint (profile)"] / allowed
    print(f"a profile takes {share:.0%} of {TIMES_PASS} x pass and the imports")


if __name__ == "__main__":
    main()
