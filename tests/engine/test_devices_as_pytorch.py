"""ENV004 counts the devices of CUDA_VISIBLE_DEVICES as PyTorch does."""

import random

import pytest

from hmactl.rules.env.env004_visible_devices import visible

pytestmark = pytest.mark.engine

_PARTS = ["0", "1", "2", " 3", "-1", "+4", "x", "", "5y", "GPU-a", "GPU-b", "MIG-a", "MIG-b", "all"]


def test_as_pytorch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = pytest.importorskip("torch").cuda
    chance = random.Random(0)
    for _ in range(3000):
        text = ",".join(chance.choices(_PARTS, k=chance.randint(1, 5)))
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
        assert visible(text) == len(cuda._parse_visible_devices()), text
