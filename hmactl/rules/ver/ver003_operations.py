"""LMCache's compiled operations do not load beside this torch.

What: LMCache's wheels are compiled for one torch and one CUDA. Beside another, or built from source
with another, the compiled part fails to load: undefined symbols, or a libcudart that is not there.
Old LMCache ends at that, newer ones go on without it in Python.

Why: at best every copy between GPU and host is many times slower, and nothing but one line in the
log says so; at worst vLLM does not start.

Failing example: an LMCache wheel for CUDA 13 in an image with CUDA 12.

Passing example: a wheel for the CUDA and torch that are installed.

Source: the loader's own words in the interpreter that will serve;
https://github.com/LMCache/LMCache/issues/3957, https://github.com/LMCache/LMCache/issues/1294.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "VER003"
SEVERITY = Severity.ERROR

# That of the machine that checks, which need not have a GPU.
_DRIVER = "libcuda.so.1"


def check(case: Case) -> Iterator[Finding]:
    """One finding where LMCache is used on a GPU and its operations do not load."""
    traits, versions = case.facts.answer.traits, case.facts.answer.versions
    if traits is None or traits.lmcache_operations is None or case.facts.gpu is None:
        return
    operations = traits.lmcache_operations
    if operations.error is None or _DRIVER in operations.error:
        return
    if not any(name.startswith("LMCache") for name in case.facts.connector_classes):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{operations.module} of LMCache {versions.lmcache} does not load beside torch "
        f"{versions.torch}: {operations.error.partition(chr(10))[0]}",
        "LMCache does not start, or copies in Python, many times slower",
        f"an LMCache that was built for torch {versions.torch} and CUDA {operations.torch_cuda}",
        case.connector_origin,
    )
