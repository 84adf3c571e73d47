"""The driver's own list of GPUs, as files of the form that it makes."""

from pathlib import Path

from hmactl.catalogue.gpus import find_gpu
from hmactl.engine.local_gpu import local_gpu

INFORMATION = """\
Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 142
GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000
Video BIOS: \t 96.00.5e.00.01
Bus Type: \t PCIe
"""


def test_the_first_gpu(tmp_path: Path) -> None:
    for bus, text in (("0000:0a:00.0", INFORMATION), ("0000:1b:00.0", "Model: \t\t Other\n")):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "information").write_text(text)
    name = local_gpu(tmp_path)
    assert name == "NVIDIA H100 80GB HBM3"
    gpu = find_gpu(name)
    assert gpu is not None
    assert gpu.capability == (9, 0)


def test_no_driver(tmp_path: Path) -> None:
    assert local_gpu(tmp_path / "nvidia") is None


def test_a_file_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "0000:0a:00.0").mkdir()
    (tmp_path / "0000:0a:00.0" / "information").write_bytes(b"\xff\xfe\n")
    assert local_gpu(tmp_path) is None
