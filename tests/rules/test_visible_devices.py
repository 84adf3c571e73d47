"""ENV004: a server that is shown fewer GPUs than it has ranks."""

import pytest

from hmactl.lint import Pins
from hmactl.lint_files import lint_text
from hmactl.rules.env.env004_visible_devices import visible
from hmactl.sources.given import Given

GPU = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
OTHER = "GPU-1932f937-d72c-4106-c12f-20bd9faed9f6"
MIG = "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 1),
        ("0,1,2,3", 4),
        (" 2 , 3", 2),
        ("1gpu2,2ampere", 2),
        ("0,1,-1,2", 2),
        ("0,,1", 1),
        ("0,1,", 2),
        ("0,1,0", 0),
        ("0,1,x,2", 2),
        ("", 0),
        ("-1", 0),
        ("all", 0),
        ("NoDevFiles", 0),
        (GPU, 1),
        (f"{GPU},{OTHER}", 2),
        (f"{GPU},{GPU}", 0),
        (f"{GPU},1", 1),
        (f"1,{GPU}", 1),
        (MIG, 1),
        (f"{MIG},{MIG}0", 2),
        (f"{MIG},{GPU}", 1),
    ],
)
def test_what_cuda_shows(text: str, count: int) -> None:
    assert visible(text) == count


def lint(text: str) -> list[str]:
    result = lint_text("f", text, Pins("0.32.0", None), Given(), None, named=True)
    return [f.message for f in result.findings if f.id == "ENV004"]


FAILING = {
    "tensor": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m --tensor-parallel-size 4",
    "short": "export CUDA_VISIBLE_DEVICES=0,1\nvllm serve m -tp 4",
    "pipeline": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 -pp 2",
    "data": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m --data-parallel-size 4",
    "local": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 -dp 8 --data-parallel-size-local 2",
    "mp": "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 2 --distributed-executor-backend mp",
    "ids": f"CUDA_VISIBLE_DEVICES={GPU} vllm serve m -tp 2",
    "repeated": "CUDA_VISIBLE_DEVICES=0,1,-1,2 vllm serve m -tp 4",
}
PASSING = {
    "enough": "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m --tensor-parallel-size 4",
    "more": "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m -tp 2",
    "one": "CUDA_VISIBLE_DEVICES=3 vllm serve m",
    "not set": "vllm serve m -tp 4",
    "mig": f"CUDA_VISIBLE_DEVICES={MIG},{MIG}0 vllm serve m -tp 2",
    "ids": f"CUDA_VISIBLE_DEVICES={GPU},{OTHER} vllm serve m -tp 2",
    "unknown devices": "CUDA_VISIBLE_DEVICES=$GPUS vllm serve m -tp 4",
    "unknown size": "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp $TP",
    "unknown options": "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 4 $MORE",
    "ray": "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 4 --distributed-executor-backend ray",
    "ray's engines": "CUDA_VISIBLE_DEVICES=0 vllm serve m -dp 4 --data-parallel-backend ray",
    "hosts": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4 --nnodes 2",
    "of several": "CUDA_VISIBLE_DEVICES=0 vllm serve m -dp 4 --data-parallel-rank 1",
    "local": "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 -dp 8 --data-parallel-size-local 1",
    "api only": "CUDA_VISIBLE_DEVICES= vllm serve m -dp 8 --data-parallel-size-local 0",
    "assigned": "CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 2 --device-ids 0,1",
    "no GPU at all": "CUDA_VISIBLE_DEVICES='' vllm serve m -tp 2",
    "AMD": "HIP_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 2",
    "of another server": "CUDA_VISIBLE_DEVICES=0 vllm serve m &\n"
    "CUDA_VISIBLE_DEVICES=1,2 vllm serve m -tp 2",
}


@pytest.mark.parametrize("text", FAILING.values(), ids=FAILING)
def test_too_few(text: str) -> None:
    (message,) = lint(f"{text}\n")
    assert "ranks (`" in message


@pytest.mark.parametrize("text", PASSING.values(), ids=PASSING)
def test_enough_or_not_known(text: str) -> None:
    assert lint(f"{text}\n") == []


PROFILE = "model: m\nvllm: {{tensor-parallel-size: 2}}\nenv: {{CUDA_VISIBLE_DEVICES: {}}}\n{}"


@pytest.mark.parametrize(
    ("devices", "target", "count"),
    [
        ("0", "", 1),
        ('"0,1"', "", 0),
        ('""', "", 0),
        ('""', "target: {gpu: H100-80GB}\n", 1),
        ('"-1"', "target: {gpus: 2}\n", 1),
    ],
)
def test_a_profile(devices: str, target: str, count: int) -> None:
    assert len(lint(PROFILE.format(devices, target))) == count
