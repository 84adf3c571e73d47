"""How long a lint of many files takes, beside other linters on the same files. Run by hand.

    python benchmarks/lint_many.py [--files 1000] [--rounds 3] [--tools BIN]

Makes a directory of mixed files from tests/cases/sources and profiles/, the same each time. BIN is
the bin directory of an environment that has yamllint, check-jsonschema or pre-commit-hooks; what is
not there is said and left out. They do less: none of them knows vLLM.
The rounds are interleaved, and each figure is the smallest of them.
"""

import argparse
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUFFIXES = {
    "compose": ".yaml",
    "dockerfile": ".dockerfile",
    "helm": ".yaml",
    "kubernetes": ".yaml",
    "lmcache": ".yaml",
    "shell": ".sh",
    "systemd": ".service",
    "vllm": ".yaml",
}


@dataclass(frozen=True, slots=True)
class Took:
    """Wall and CPU seconds of a command and its children, KiB of the largest of them."""

    wall: float
    cpu: float
    largest: int


def make_files(directory: Path, count: int) -> None:
    """``count`` files of all forms, in directories of about twenty."""
    cases = [
        path
        for path in sorted((ROOT / "tests" / "cases" / "sources").glob("*/*"))
        if path.is_file() and path.suffix != ".expected"
    ]
    sources = [*cases, *sorted((ROOT / "profiles").glob("*.yaml"))]
    for number, source in enumerate(itertools.islice(itertools.cycle(sources), count)):
        suffix = source.suffix or SUFFIXES.get(source.parent.name, "")
        target = directory / f"part{number // 20:03}" / f"{number:04}-{source.stem}{suffix}"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)


def run(argv: list[str]) -> Took:
    """Run a command once; exit status 0 and 1 are both an answer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{argv[0]} ended with status {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu, usage.ru_maxrss)


def commands(directory: Path, tools: Path | None) -> dict[str, list[str]]:
    """What is compared, by its name."""
    found = {"hmactl lint": [sys.executable, "-m", "hmactl", "lint", "-q", str(directory)]}
    yaml = sorted(map(str, directory.rglob("*.yaml")))
    names = {path.name for path in ROOT.glob("profiles/*.yaml")}
    profiles = [path for path in yaml if Path(path).name.partition("-")[2] in names]
    schema = ["--schemafile", str(ROOT / "schemas" / "profile.json")]
    others = {
        f"yamllint ({len(yaml)} YAML files)": ["yamllint", *yaml],
        f"check-yaml ({len(yaml)} YAML files)": ["check-yaml", "--multi", "--unsafe", *yaml],
        f"check-jsonschema ({len(profiles)} profiles)": ["check-jsonschema", *schema, *profiles],
    }
    for name, (program, *arguments) in others.items():
        path = shutil.which(program, path=None if tools is None else str(tools))
        if path is None:
            print(f"{program} is not installed, and left out")
        else:
            found[name] = [path, *arguments]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        make_files(directory, options.files)
        asked = commands(directory, options.tools)
        took: dict[str, list[Took]] = {one: [] for one in asked}
        for _ in range(options.rounds):
            for one, argv in asked.items():
                took[one].append(run(argv))
    print(f"{options.files} files, {len(os.sched_getaffinity(0))} processors")
    for one, runs in took.items():
        wall, cpu = min(t.wall for t in runs), min(t.cpu for t in runs)
        largest = max(t.largest for t in runs) >> 10
        print(f"{one:45} {wall:6.2f} s wall {cpu:6.2f} s CPU {largest:5} MiB in the first process")


if __name__ == "__main__":
    main()
