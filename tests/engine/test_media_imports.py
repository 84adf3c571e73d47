"""What find_engine says about an installed engine is what importing finds."""

import subprocess

import pytest

from hmactl.engine.find import find_engine

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("name", ["torchvision", "torchaudio", "torchcodec"])
def test_broken_is_what_cannot_be_imported(name: str) -> None:
    engine = find_engine()
    if engine.torch is None:
        pytest.skip(f"no torch is installed for {engine.python}")
    answer = subprocess.run(
        [str(engine.python), "-c", f"import {name}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if f"No module named '{name}'" in answer.stderr:
        pytest.skip(f"{name} is not installed")
    assert (name in engine.broken_media) == (answer.returncode != 0), answer.stderr
