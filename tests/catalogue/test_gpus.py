"""The GPUs of the catalogue: what people type, and what must hold of every entry."""

import re
from collections import Counter, defaultdict

import pytest

from hmactl.catalogue.gpus import DEFAULT_GPU, Gpu, UnknownGpuError, all_gpus, find_gpu, fold

# As sold, in 10**9 bytes, for ids and names that do not say it.
MARKETED = {
    "T4": 16,
    "A10": 24,
    "A10G": 24,
    "A30": 24,
    "A40": 48,
    "L4": 24,
    "L20": 48,
    "L40": 48,
    "L40S": 48,
    "H100-NVL": 94,
    "H200": 141,
    "H200-NVL": 141,
    "B200": 192,
    "B300": 288,
    "GB200": 192,
    "GB300": 288,
    "GB10": 128,
    "RTX-6000-Ada": 48,
    "RTX-5000-Ada": 32,
    "RTX-A6000": 48,
    "RTX-A5000": 24,
    "RTX-PRO-6000": 96,
    "RTX-PRO-6000-Workstation": 96,
    "RTX-3090": 24,
    "RTX-3090-Ti": 24,
    "RTX-4080": 16,
    "RTX-4090": 24,
    "RTX-5070-Ti": 16,
    "RTX-5080": 16,
    "RTX-5090": 32,
}
# CUDA programming guide, technical specifications: shared memory per block, opt-in.
SHARED_MEMORY = {
    (7, 0): 96 << 10,
    (7, 5): 64 << 10,
    (8, 0): 163 << 10,
    (8, 6): 99 << 10,
    (8, 9): 99 << 10,
    (9, 0): 227 << 10,
    (10, 0): 227 << 10,
    (10, 3): 227 << 10,
    (12, 0): 99 << 10,
    (12, 1): 99 << 10,
}
EVERY = pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.id)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("H100", "H100-80GB"),
        ("h100", "H100-80GB"),
        ("H100 SXM", "H100-80GB"),
        ("h100_80gb", "H100-80GB"),
        ("H100 80 GB", "H100-80GB"),
        ("NVIDIA-H100-80GB-HBM3", "H100-80GB"),
        ("nvidia h100 80gb hbm3", "H100-80GB"),
        ("nvidia-h100-80gb", "H100-80GB"),
        ("NVIDIA H100 PCIe", "H100-80GB-PCIe"),
        ("h100-pcie", "H100-80GB-PCIe"),
        ("NVIDIA-H100-NVL", "H100-NVL"),
        ("H100-94GB", "H100-NVL"),
        ("A100", "A100-80GB"),
        ("A100-80G", "A100-80GB"),
        ("NVIDIA-A100-SXM4-80GB", "A100-80GB"),
        ("NVIDIA-A100-SXM4-80GB-SHARED", "A100-80GB"),
        ("A100-40GB", "A100-40GB"),
        ("a100 40g", "A100-40GB"),
        ("A100-PCIE-40GB", "A100-40GB-PCIe"),
        ("nvidia-tesla-a100", "A100-40GB"),
        ("NVIDIA-A100-80GB-PCIe", "A100-80GB-PCIe"),
        ("A800", "A800-80GB"),
        ("H800", "H800-80GB"),
        ("H20", "H20-96GB"),
        ("NVIDIA-H20", "H20-96GB"),
        ("H20-3e", "H20-141GB"),
        ("h20 141gb", "H20-141GB"),
        ("H200", "H200"),
        ("nvidia-h200-141gb", "H200"),
        ("H200 NVL", "H200-NVL"),
        ("GH200", "GH200-96GB"),
        ("NVIDIA GH200 480GB", "GH200-96GB"),
        ("NVIDIA GH200 144G HBM3e", "GH200-144GB"),
        ("B200", "B200"),
        ("NVIDIA-B300-SXM6-AC", "B300"),
        ("GB200 NVL72", "GB200"),
        ("NVIDIA GB300", "GB300"),
        ("DGX Spark", "GB10"),
        ("nvidia-l4", "L4"),
        ("L40s", "L40S"),
        ("l40", "L40"),
        ("a10g", "A10G"),
        ("A10", "A10"),
        ("Tesla T4", "T4"),
        ("nvidia-tesla-t4", "T4"),
        ("Tesla-V100-SXM2-32GB", "V100-32GB"),
        ("V100", "V100-16GB"),
        ("A6000", "RTX-A6000"),
        ("RTX 6000 Ada", "RTX-6000-Ada"),
        ("RTX PRO 6000", "RTX-PRO-6000"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition", "RTX-PRO-6000-Workstation"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("rtx4090", "RTX-4090"),
        ("4090", "RTX-4090"),
        ("GeForce RTX 5090", "RTX-5090"),
        ("3090 ti", "RTX-3090-Ti"),
        ("RTX 4060 Ti 16GB", "RTX-4060-Ti-16GB"),
        ("p5.48xlarge", "H100-80GB"),
        ("p5en", "H200"),
        ("g5.12xlarge", "A10G"),
        ("g6.xlarge", "L4"),
        ("g6e.48xlarge", "L40S"),
        ("p4d.24xlarge", "A100-40GB"),
        ("a3-highgpu-8g", "H100-80GB"),
        ("a2-ultragpu-1g", "A100-80GB"),
        ("g2-standard-12", "L4"),
        ("Standard_ND96isr_H100_v5", "H100-80GB"),
        ("Standard_NC24ads_A100_v4", "A100-80GB-PCIe"),
        ("Standard_NC40ads_H100_v5", "H100-NVL"),
    ],
)
def test_what_people_type(typed: str, expected: str) -> None:
    gpu = find_gpu(typed)
    assert gpu is not None
    assert gpu.id == expected


@pytest.mark.parametrize("typed", ["cpu", "CPU", " cpu "])
def test_the_plain_platform_has_no_gpu(typed: str) -> None:
    assert find_gpu(typed) is None


@pytest.mark.parametrize(
    ("typed", "similar"),
    [
        ("H1000", "H100-80GB"),
        ("L40SS", "L40S"),
        ("RTX 4091", "RTX-4090"),
        ("H20-140GB", "H20-141GB"),
        # The driver's name alone does not tell 8 GB from 16 GB.
        ("NVIDIA GeForce RTX 4060 Ti", "RTX-4060-Ti-16GB"),
        ("RTX 5060 Ti", "RTX-5060-Ti-16GB"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-40GB"),
    ],
)
def test_an_unknown_name_brings_the_nearest(typed: str, similar: str) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        find_gpu(typed)
    message = str(caught.value)
    assert f"`{typed}`" in message
    assert message.partition("similar: ")[2].split(", ")[0] == similar


@pytest.mark.parametrize("typed", ["", "potato", "?"])
def test_a_name_like_none_brings_the_command_that_lists_them(typed: str) -> None:
    with pytest.raises(UnknownGpuError, match=r"`hmactl gpus` lists it, and there is `cpu`"):
        find_gpu(typed)


@pytest.mark.parametrize(
    "typed",
    [
        *("MI300X", "AMD Instinct MI355X", "gfx942", "Radeon AI PRO R9700", "RX 7900 XTX"),
        *("Gaudi", "gaudi-3", "Intel Arc B580", "Max 1550", "TPU", "TPU v5e", "v6e", "Trainium2"),
        *("inf2", "Ascend 910B", "Apple M2 Ultra", "M4"),
    ],
)
def test_other_makers_are_refused_plainly(typed: str) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        find_gpu(typed)
    assert str(caught.value) == (
        f"`{typed}` is not an NVIDIA GPU: hmactl virtualises only NVIDIA GPUs; "
        "`cpu`, the plain CPU platform, is available as well"
    )


def test_the_default_is_in_the_catalogue() -> None:
    assert find_gpu(DEFAULT_GPU) is not None


def test_no_name_belongs_to_two_gpus() -> None:
    owners = defaultdict(set)
    for gpu in all_gpus():
        for name in gpu.names:
            owners[fold(name)].add(gpu.id)
    assert {key: ids for key, ids in owners.items() if len(ids) > 1} == {}


def test_no_driver_name_belongs_to_two_gpus() -> None:
    assert max(Counter(gpu.name for gpu in all_gpus()).values()) == 1


@EVERY
def test_every_name_finds_its_gpu(gpu: Gpu) -> None:
    for name in gpu.names:
        assert find_gpu(name) is gpu
        assert find_gpu(name.upper().replace("-", "_")) is gpu


@EVERY
def test_no_alias_says_what_another_name_does(gpu: Gpu) -> None:
    others = {fold(gpu.id), fold(gpu.name)}
    aliases = [fold(alias) for alias in gpu.aliases]
    assert not others & set(aliases)
    assert len(aliases) == len(set(aliases))


@EVERY
def test_memory(gpu: Gpu) -> None:
    sold = re.search(r"-(\d+)GB", gpu.id)
    marketed = (int(sold[1]) if sold else MARKETED[gpu.id]) * 10**9
    assert gpu.usable_memory <= gpu.memory
    assert gpu.usable_memory > 0.95 * gpu.memory
    assert abs(gpu.memory - marketed) <= 0.15 * marketed


@EVERY
def test_shared_memory_follows_from_the_capability(gpu: Gpu) -> None:
    assert gpu.shared_memory == SHARED_MEMORY[gpu.capability]


@EVERY
def test_every_number_has_a_source(gpu: Gpu) -> None:
    for word in ("memory", "usable", "SM"):
        assert word in gpu.source
    assert 30 <= gpu.sm_count <= 200


@EVERY
def test_a_name_of_cards_of_several_sizes_does_not_find_one(gpu: Gpu) -> None:
    if gpu.shared_name:
        assert all("GB" in name for name in gpu.names)
        with pytest.raises(UnknownGpuError):
            find_gpu(gpu.name)
