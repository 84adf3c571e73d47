"""Bring hmactl's catalogue of ``vllm serve`` options up to date from installed vLLM versions.

    python -m tools.catalogue.flags PYTHON...

For maintainers, from the repository's root. Every PYTHON is an interpreter with a vLLM
(`python -m tools.versions` makes them); its own argument parser is asked, because half of the
options are made from annotations when it runs. Versions that are not given stay as they are.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from hmactl.catalogue.connector_versions import by_version
from hmactl.catalogue.gpus import DEFAULT_GPU, find_gpu
from hmactl.engine.ask import virtual_gpu
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import find_engine

from .runs import as_runs

DATA = Path("hmactl/catalogue/data")
FILE = "flags.json"
ABOUT = (
    "Options of `vllm serve` per release, as its own argument parser has them; written by `python "
    "-m tools.catalogue.flags`, not edited by hand. A run holds for each of `versions` from `from` "
    "to `to`. "
    "takes: what stands behind the option. aliases: other spellings, the --no- form among them. "
    "negative: those of them that say no, besides the --no- forms. choices: where only these "
    "values are taken."
)
_ENGINE = Path(__file__).parent.parent.parent / "hmactl" / "engine"
_DUMP = Path(__file__).parent / "flags_dump.py"

Options = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.catalogue.flags")
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    refresh(parser.parse_args().pythons, DATA)


def refresh(pythons: Sequence[str], data: Path) -> None:
    """Ask these interpreters; other versions in the file stay."""
    path = data / FILE
    releases = expand(json.loads(path.read_text("utf-8"))) if path.exists() else {}
    for python in pythons:
        try:
            version, options = ask(python)
        except subprocess.CalledProcessError as error:
            sys.exit(f"{python}: {error}")
        print(f"{version}: {len(options)} options", file=sys.stderr, flush=True)
        releases[version] = options
    path.write_text(compact(releases), "utf-8")


def ask(python: str) -> tuple[str, Options]:
    """The version of the vLLM in that interpreter, and the options of its parser."""
    engine, card = find_engine(python), find_gpu(DEFAULT_GPU)
    gpu = None if card is None else virtual_gpu(card, 1)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    environment |= bridge_environment(engine, environment)
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "options.json"
        subprocess.run(
            [python, str(_DUMP), str(_ENGINE), str(out), json.dumps(gpu)],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        answer = json.loads(out.read_text("utf-8"))
    return answer["version"].partition("+")[0], answer["options"]


def expand(data: dict[str, Any]) -> dict[str, Options]:
    """The options of each version, from the data file's own form."""
    releases: dict[str, Options] = {version: {} for version in data["versions"]}
    for name, runs in data["options"].items():
        for version, facts in by_version(runs, data["versions"]):
            releases[version][name] = facts
    return releases


def compact(releases: dict[str, Options]) -> str:
    """The data file's form: a line for each run of versions that say the same of an option."""
    versions = sorted(releases, key=Version)
    lines = []
    for name in sorted({name for options in releases.values() for name in options}):
        same = as_runs([(version, releases[version].get(name)) for version in versions])
        shown = ",\n".join(f"      {json.dumps(run)}" for run in same)
        lines.append(f"    {json.dumps(name)}: [\n{shown}\n    ]")
    options = "{\n" + ",\n".join(lines) + "\n  }"
    return (
        f'{{\n  "about": {json.dumps(ABOUT)},\n  "versions": {json.dumps(versions)},\n'
        f'  "options": {options}\n}}\n'
    )


if __name__ == "__main__":
    main()
