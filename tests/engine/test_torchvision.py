"""A torchvision of another build, next to the real torch, can be imported through the bridge."""

import os
import subprocess
import sys

import pytest

from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Engine

pytestmark = pytest.mark.engine


def test_its_python_half_works_in_every_process(engine: Engine) -> None:
    if "torchvision" not in engine.broken_media:
        pytest.skip("this torchvision fits its torch")
    script = (
        "import importlib.util, subprocess, sys\n"
        "assert importlib.util.find_spec('torchvision') is not None\n"
        "import torchvision.transforms.v2.functional\n"
        "from torchvision.io import ImageReadMode\n"
        "code = 'import torchvision.transforms; print(\"again\")'\n"
        "subprocess.run([sys.executable, '-c', code], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **bridge_environment(engine, os.environ)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "again"), done.stderr
