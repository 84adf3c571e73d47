"""This machine's GPU: the driver's list as files of its form, its libraries as small real ones."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hmactl.catalogue.gpus import UnknownGpuError, find_gpu
from hmactl.check import Options, check_document
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import DEFAULT, Setting
from hmactl.engine.answer import Answer, Versions
from hmactl.engine.local_gpu import local_gpu
from hmactl.facts.facts import Facts
from hmactl.rules.case import Case
from hmactl.rules.eng import eng004_other_gpu
from hmactl.sources.document import Document
from hmactl.verdict.verdict import Decision, Verdict

INFORMATION = """\
Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 142
GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000
Video BIOS: \t 96.00.5e.00.01
Bus Type: \t PCIe
"""
# The functions of cuda.h and nvml.h that are asked, with their signatures.
LIBCUDA = r"""
#include <stddef.h>
#include <string.h>
int cuInit(unsigned flags) { return STATUS; }
int cuDeviceGet(int *device, int ordinal) { *device = 7; return 0; }
int cuDeviceGetName(char *name, int len, int d) { strncpy(name, NAME, len); return d != 7; }
int cuDeviceTotalMem_v2(size_t *bytes, int d) { *bytes = USABLE; return d != 7; }
int cuDeviceGetPCIBusId(char *id, int len, int d) { strncpy(id, "0000:0A:00.0", len); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int d) {
    switch (attribute) {
    case 16: *value = SMS; return 0;      /* MULTIPROCESSOR_COUNT */
    case 75: *value = MAJOR; return 0;    /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = MINOR; return 0;    /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 101376; return 0;   /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    }
    return 1;
}
"""
LIBNVML = r"""
#include <string.h>
struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
    *device = (void *)9; return strcmp(id, "0000:0A:00.0") != 0;
}
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m) {
    m->total = TOTAL; m->free = 1; m->used = 2; return device != (void *)9;
}
"""
GIB = 2**30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose driver lists one H100 and has no libraries yet."""
    local_gpu.cache_clear()
    bus = tmp_path / "gpus" / "0000:0a:00.0"
    bus.mkdir(parents=True)
    (bus / "information").write_text(INFORMATION)
    (tmp_path / "lib").mkdir()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "lib"))
    return tmp_path / "gpus"


def _libraries(machine: Path, **values: object) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make the driver's libraries with")
    macros = {"STATUS": 0, "NAME": "NVIDIA H100 80GB HBM3", "MAJOR": 9, "MINOR": 0, "SMS": 132}
    macros |= values
    macros["NAME"] = f'"{macros["NAME"]}"'
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    for library, source in (("libcuda.so.1", LIBCUDA), ("libnvidia-ml.so.1", LIBNVML)):
        if library.startswith("libnvidia") and "TOTAL" not in values:
            source = ""  # a library that lacks the functions  # noqa: PLW2901
        path = machine.parent / "lib" / library
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), *defined],
            input=source,
            text=True,
            check=True,
        )


def test_what_the_driver_says_wins_over_the_catalogue(machine: Path) -> None:
    _libraries(machine, USABLE=f"{39 * GIB}UL", SMS=60, TOTAL=f"{40 * GIB}ULL")
    gpu = local_gpu(machine)
    assert gpu is not None
    assert gpu.of_this_machine
    assert (gpu.name, gpu.capability, gpu.sm_count) == ("NVIDIA H100 80GB HBM3", (9, 0), 60)
    assert (gpu.usable_memory, gpu.memory) == (39 * GIB, 40 * GIB)
    assert gpu.shared_memory == 101376


def test_a_gpu_that_no_catalogue_has(machine: Path) -> None:
    _libraries(machine, NAME="NVIDIA Z900", MAJOR=13, MINOR=1, SMS=300, USABLE=f"{500 * GIB}UL")
    gpu = local_gpu(machine)
    assert gpu is not None
    assert (gpu.name, gpu.capability, gpu.sm_count) == ("NVIDIA Z900", (13, 1), 300)
    # Without NVML the engine takes CUDA's figure for both.
    assert (gpu.usable_memory, gpu.memory) == (500 * GIB, 500 * GIB)


def test_a_driver_that_can_only_be_listed(machine: Path) -> None:
    gpu = local_gpu(machine)
    assert gpu == find_gpu("H100-80GB")


@pytest.mark.parametrize("libraries", [False, True])
def test_neither_driver_nor_catalogue(machine: Path, libraries: bool) -> None:
    (machine / "0000:0a:00.0" / "information").write_text("Model: \t\t NVIDIA Z900\n")
    if libraries:
        _libraries(machine, STATUS=999, USABLE="1UL")
    with pytest.raises(UnknownGpuError) as raised:
        local_gpu(machine)
    assert "this machine's GPU, `NVIDIA Z900`, is not in the catalogue" in str(raised.value)
    assert ("cuInit returned 999" if libraries else "libcuda.so.1") in str(raised.value)


def test_no_driver(tmp_path: Path) -> None:
    assert local_gpu(tmp_path / "nvidia") is None


def test_a_file_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "0000:0a:00.0").mkdir()
    (tmp_path / "0000:0a:00.0" / "information").write_bytes(b"\xff\xfe\n")
    assert local_gpu(tmp_path) is None


_DEPLOYMENT = Deployment("p.yaml", "p", Setting("model", "m", DEFAULT))


def test_a_machine_whose_gpu_is_unknown_gets_a_finding(machine: Path) -> None:
    (machine / "0000:0a:00.0" / "information").write_text("Model: \t\t NVIDIA Z900\n")

    class Session:
        """Nothing is asked of it."""

    options = Options({}, machine, local_gpu=lambda: local_gpu(machine))
    document = Document("p.yaml", 0, _DEPLOYMENT, ())
    checked = check_document(document, Session(), options)  # type: ignore[arg-type]
    assert [f.id for f in checked.findings] == ["ENG003"]
    assert "this machine's GPU" in checked.findings[0].message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"USABLE": f"{39 * GIB}UL", "SMS": 60}, ("60 SMs, and the catalogue says 132", "39.00")),
        ({"USABLE": "85018877624UL"}, ()),
        ({"USABLE": "84500000000UL"}, ()),  # of another driver: 0.6% less
        ({"USABLE": "1UL", "NAME": "NVIDIA Z900"}, ()),
    ],
    ids=["slice", "the same", "other driver", "not in the catalogue"],
)
def test_a_gpu_that_is_not_as_the_catalogue_says(
    machine: Path, values: dict[str, object], said: tuple[str, ...]
) -> None:
    _libraries(machine, **values)
    versions = Versions(
        vllm="1", vllm_path="", lmcache=None, torch="", transformers=None, python="", python_path=""
    )
    facts = Facts(
        _DEPLOYMENT, Answer(error=None, versions=versions), None, local_gpu(machine), None
    )
    found = list(eng004_other_gpu.check(Case(facts, Verdict(Decision.UNKNOWN, None, None, ""))))
    assert len(found) == bool(said)
    for part in said:
        assert part in found[0].message
