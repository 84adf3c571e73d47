"""How long a check takes: cold, repeated, and many in one call. Run by hand.

    python benchmarks/check_speed.py

Compares within one run with what nobody can avoid: importing the engine. Each figure is the
smallest of a few runs.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMPORTS = "import vllm.engine.arg_utils, vllm.v1.engine.core"
MANY = 50


def seconds(*argv: str, runs: int = 3) -> float:
    """The shortest wall time of a command that may end with status 0 or 1."""
    times = []
    for _ in range(runs):
        started = time.monotonic()
        done = subprocess.run(argv, capture_output=True, check=False, cwd=ROOT)
        times.append(time.monotonic() - started)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr.decode())
    return min(times)


def imports() -> float:
    """Importing the engine as the dry boot does, with what its environment needs."""
    from hmactl.engine.bridge_environment import bridge_environment
    from hmactl.engine.find import find_engine

    bridge = bridge_environment(find_engine(), {})
    variables = [f"{name}={value}" for name, value in bridge.items()]
    return seconds("env", *variables, sys.executable, "-c", IMPORTS)


def main() -> None:
    """Measure and print."""
    check = (sys.executable, "-m", "hmactl", "check", "-q", "--offline")
    profile = "profiles/gpt-oss-20b-offloading.yaml"
    engine = imports()
    cold = seconds(*check, "--no-cache", profile)
    seconds(*check, profile, runs=1)
    repeated = seconds(*check, profile)
    with tempfile.TemporaryDirectory() as directory:
        text = (ROOT / profile).read_text("utf-8")
        for number in range(MANY):
            length = f"vllm:\n  max-model-len: {8192 + number}\n"
            Path(directory, f"{number:02}.yaml").write_text(text + length)
        paths = sorted(map(str, Path(directory).glob("*.yaml")))
        many = seconds(*check, "--no-cache", *paths, runs=1)
    print(f"importing the engine       {engine:6.2f} s")
    print(f"cold check of one profile  {cold:6.2f} s   {cold / engine:.2f} x the import")
    print(f"the same again             {repeated:6.2f} s")
    print(f"{MANY} profiles in one call   {many:6.2f} s   {(many - cold) / (MANY - 1):.2f} s each")


if __name__ == "__main__":
    main()
