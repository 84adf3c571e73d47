"""KVTransferConfig's fields as the catalogue has them, and as installed vLLMs have them.

The installed one is always asked, others where HMACTL_TEST_PYTHONS names their interpreters.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue.table import Table

from hmactl.catalogue.transfer_fields import Others, transfer_fields
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine, find_engine

pytestmark = pytest.mark.engine

DATA = Path(__file__).parents[2] / "hmactl" / "catalogue" / "data" / "kv-transfer.json"
OTHERS = [python for python in os.environ.get("HMACTL_TEST_PYTHONS", "").split(":") if python]
# The class is as vLLM's parser uses it: from JSON.
ASK = """
import dataclasses, json
from pydantic import TypeAdapter, ValidationError
from vllm.config import KVTransferConfig
from vllm.version import __version__
taken = TypeAdapter(KVTransferConfig).validate_json
try:
    taken('{"kv_no_such_field": 1}')
    others = "ignored"
except ValidationError:
    others = "refused"
fields = {}
for field in dataclasses.fields(KVTransferConfig):
    try:
        json.dumps(field.default)
        fields[field.name] = {"default": field.default}
    except TypeError:
        fields[field.name] = {}
print("\\n" + json.dumps({"version": __version__, "others": others, "fields": fields}))
"""


def _ask(engine: Engine) -> dict[str, Any]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [str(engine.python), "-c", ASK],
        env=environment | bridge_environment(engine, environment),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def _hold(engine: Engine) -> None:
    said = _ask(engine)
    (release,) = transfer_fields(said["version"])
    assert release.fields == said["fields"].keys()
    assert release.others == Others(said["others"])
    table = Table(DATA, "", ("fields", "lmcache"), ("others", "hashing"))
    read = table.read()[release.version]["fields"]
    for name, facts in said["fields"].items():
        if "default" in read[name] and "default" in facts:
            assert facts["default"] == read[name]["default"], name


def test_the_installed_engine_has_exactly_these(engine: Engine) -> None:
    _hold(engine)


@pytest.mark.parametrize("python", OTHERS)
def test_other_releases_have_exactly_these(python: str) -> None:
    _hold(find_engine(python, timeout=120))
