"""CUDA_VISIBLE_DEVICES names fewer GPUs than the ranks on this host need.

What: vLLM gives every tensor and pipeline parallel rank a GPU of its own, and every data parallel
engine on the host a further set. The variable names fewer. As CUDA reads it, the list ends at the
first entry that is no number, GPU or MIG id, and a repeated entry makes it empty.

Why: vLLM ends at start-up: "World size (4) is larger than the number of available GPUs (2)", or a
worker does with "invalid device ordinal".

Failing example: `CUDA_VISIBLE_DEVICES=0,1 vllm serve MODEL --tensor-parallel-size 4`.

Passing example: `CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve MODEL --tensor-parallel-size 4`; with Ray,
whose workers may be on other hosts, nothing is said.

Source: `ParallelConfig` and `get_physical_gpu_ids_for_local_dp_rank` of vLLM 0.11.1 to 0.33.0, and
`_parse_visible_devices` of PyTorch.

Since: 0.1.0.
"""

import re
from collections.abc import Iterator

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import Area, Setting
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "ENV004"
SEVERITY = Severity.ERROR

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_SIZES = ("tensor-parallel-size", "pipeline-parallel-size")
_REPLICAS = ("data-parallel-size", "data-parallel-size-local")
_BACKENDS = ("distributed-executor-backend", "data-parallel-backend")
# With these, ranks are elsewhere or find their GPUs by other means.
_OTHERWISE = (
    *("nnodes", "headless", "data-parallel-address", "data-parallel-start-rank"),
    *("data-parallel-rank", "data-parallel-external-lb", "data-parallel-hybrid-lb", "device-ids"),
)
_OTHER_VARIABLES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_NUMBER = re.compile(r"[+-]?\d+")


def check(case: Case) -> Iterator[Finding]:
    """One finding where the GPUs that are named certainly do not suffice."""
    deployment = case.facts.deployment
    variable = next((s for s in deployment.env if s.name == _VARIABLE), None)
    if variable is None or case.facts.gpu is None or (needed := _needed(deployment)) is None:
        return
    count = visible(str(variable.value))
    if count >= needed[0] or (count == 0 and not _wants_gpus(deployment)):
        return
    ranks, said = needed
    yield Finding(
        ID,
        SEVERITY,
        f"`{_VARIABLE}={variable.value}` shows {count} GPU{'' if count == 1 else 's'} to a server "
        f"with {ranks} rank{'' if ranks == 1 else 's'} ({said})",
        "vLLM ends at start-up",
        f"name {ranks} GPU{'' if ranks == 1 else 's'}, or lower what asks for so many",
        variable.origin,
    )


def visible(text: str) -> int:
    """How many devices CUDA shows under that value."""
    prefix = next((p for p in ("GPU-", "MIG-") if text.startswith(p)), None)
    seen: set[str] = set()
    for entry in text.split(","):
        device = entry if prefix is not None else _number(entry.strip())
        if device in seen:
            return 0
        if device is None or (prefix is not None and not device.startswith(prefix)):
            break
        seen.add(device)
    return len(seen)


def _number(entry: str) -> str | None:
    """The number with which it begins; None where that is none from 0 on."""
    match = _NUMBER.match(entry)
    return str(int(match[0])) if match and int(match[0]) >= 0 else None


def _needed(deployment: Deployment) -> tuple[int, str] | None:
    """Ranks on this host, and what asks for them; None where that is not certain."""
    asked = (*_SIZES, *_REPLICAS, *_BACKENDS, *_OTHERWISE)
    if any(deployment.is_unknown(Area.VLLM, name) for name in asked):
        return None
    if any(deployment.vllm_setting(name) is not None for name in _OTHERWISE):
        return None
    if any(s.name in _OTHER_VARIABLES for s in deployment.env):
        return None
    backends = [deployment.vllm_setting(name) for name in _BACKENDS]
    if any(backend is not None and backend.value != "mp" for backend in backends):
        return None
    every, local = (deployment.vllm_setting(name) for name in _REPLICAS)
    sizes = [deployment.vllm_setting(name) for name in _SIZES]
    return _product([s for s in (*sizes, local or every) if s is not None])


def _product(sizes: list[Setting]) -> tuple[int, str] | None:
    ranks = 1
    for setting in sizes:
        if isinstance(setting.value, bool) or not isinstance(setting.value, int):
            return None
        ranks *= setting.value
    said = ", ".join(f"`{s.name}: {s.value}`" for s in sizes if s.value != 1)
    return ranks, said or "every server has one"


def _wants_gpus(deployment: Deployment) -> bool:
    """Whether it is said that there are GPUs; without any, vLLM may be the CPU build."""
    target = deployment.target
    return bool(target.gpus) or (target.gpu is not None and target.gpu != "cpu")
