"""Causes of failures, from lines that servers wrote and users posted."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import pytest
from conftest import ROOT

from hmactl.catalogue.failures import failures
from hmactl.launch.failures import Cause, FailureLog, diagnose_files, diagnose_stream
from hmactl.launch.failures_page import page
from hmactl.launch.failures_text import render_failures
from hmactl.rules.pages import all_explained

# Each as a release printed it: vLLM 0.32.0 and LMCache 0.5.6 where nothing else is said.
_STARTED = "(APIServer pid=1) INFO 12-02 10:00:00 [utils.py:299] vLLM API server version 0.32.0\n"
_LAST_WORDS = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. "
    "Failed core proc(s): {}\n"
    "nanobind: leaked 12 types!\n"
)
_TOO_LONG = (
    "(EngineCore pid=9) ERROR 12-02 10:00:09 [core.py:1510] ValueError: To serve at least one "
    "request with the model's max seq len (65536), (0.19 GiB KV cache is needed, which is larger "
    "than the available KV cache memory (0.03 GiB). Based on the available memory, the estimated "
    "maximum model length is 10240. Try increasing `gpu_memory_utilization`\n"
)
_DEGRADED = (
    "\x1b[31;20m[2026-12-02 10:00:08,123] LMCache ERROR:\x1b[0m Failed to initialize "
    "LMCacheManager components: Traceback (most recent call last):\n"
    '  File "lmcache/v1/manager.py", line 90, in _initialize_components\n'
)
CASES = {
    # vLLM 0.19.1: LMCache/LMCache#3163
    "cannot-unify": "ValueError: Hybrid KV cache manager is disabled but failed to convert the KV "
    "cache specs to one unified type.",
    "connector-without-hma": "ValueError: Connector LMCacheConnectorV1 does not support HMA but "
    "HMA is enabled. Please set `--disable-hybrid-kv-cache-manager`.",
    "request-does-not-fit": _TOO_LONG,
    # vLLM 0.28.0: vllm-project/vllm#49064
    "mamba-blocks": "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (969).",
    "unknown-connector": "pydantic_core._pydantic_core.ValidationError: 1 validation error for "
    "VllmConfig\n  Value error, Unsupported connector type: NoSuchConnector [type=value_error]",
    "option-value": "vllm serve: error: argument --kv-transfer-config: 1 validation error for "
    "KVTransferConfig\n  Invalid JSON: key must be a string at line 1 column 2",
    "unknown-option": "vllm: error: unrecognized arguments: --enable-hma --lmcache-chunk-size 256",
    "port-taken": "OSError: [Errno 98] Address already in use",
    "mp-server-missing": "ConnectionError: Cannot reach the LMCache MP server at "
    "'tcp://127.0.0.1:6555' within 15.0s.",
    "no-vllm-metadata": "importlib.metadata.PackageNotFoundError: No package metadata was found "
    "for vllm",
    "torchvision-mismatch": "RuntimeError: operator torchvision::nms does not exist",
    "config-file-unreadable": "Unable to read the config file at ./nope.yaml. Check path "
    "correctness",
    "gpu-out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "killed": "ERROR 12-02 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly "
    "(exit code: -9), shutting down executor.",
    "shared-memory-full": "OSError: [Errno 28] No space left on device: '/psm_1b2c3d4e'",
    "disk-full": "OSError: [Errno 28] No space left on device: '/cache/lmcache/a@b@1.pt'",
    "lmcache-value": "LMCache WARNING: Failed to convert value for chunk_size='abc': invalid "
    "literal for int() with base 10: 'abc'",
    "lmcache-not-initialised": _DEGRADED,
    "host-memory-refused": _DEGRADED + "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == "
    "0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 536870916096 bytes. "
    "Error code 12 (Cannot allocate memory). System will operate in degraded mode (recompute).",
    "mp-mixed-layouts": "LMCache ERROR: Error in blocking handler\nTraceback (most recent call "
    "last):\nRuntimeError: shape '[1, 1, 256, 256]' is invalid for input of size 393216",
    # LMCache/LMCache#2306
    "blending": "ERROR 12-24 [core.py:866] ValueError: vllm model for vllm-instance not found.",
    # vLLM 0.22.1: LMCache/LMCache#3655
    "mamba-external-hit": "AssertionError: External KV connector is not verified yet",
    # vllm-project/vllm#50714
    "no-common-block-size": "ValueError: No common block size for 4",
    "heads-not-divisible": "Value error, Total number of attention heads (14) must be divisible by "
    "tensor parallel size (4). [type=value_error]",
    # vllm-project/vllm#21661
    "nccl": "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "mp-handler-failed": "LMCache ERROR: Error in blocking handler\nKeyError: 3",
}


def _causes(text: str, who: str = "vllm") -> tuple[Cause, ...]:
    log = FailureLog()
    for line in text.splitlines():
        log.feed(who, line)
    return log.causes()


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_named(name: str) -> None:
    assert [cause.id for cause in _causes(_STARTED + CASES[name] + "\n" + _LAST_WORDS)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        # A clean stop says so, too: measured with LMCacheConnectorV1.
        "ERROR [async_llm.py:700] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
        "encountered an issue. See stack trace (above) for the root cause.",
        _LAST_WORDS,
        # An operator's own words.
        "INFO [logger.py:40] Received request cmpl-1: prompt: 'why CUDA out of memory?'",
        # Two processes agree.
        "LMCache INFO: Initialized NONE_HASH=b'1' from vLLM\n"
        "LMCache INFO: Initialized NONE_HASH=b'1' from vLLM",
        # Known, allowed, and the server runs.
        "WARNING [model.py] User-specified max_model_len (9) is greater than the derived "
        "max_model_len (max_position_embeddings=8 or model_max_length=None in model's "
        "config.json).",
        "/usr/lib/python3.11/resource_tracker.py: There appear to be 2 leaked shared_memory",
        # The same words, and nothing failed at the LMCache server before.
        "RuntimeError: shape '[1, 1, 256, 256]' is invalid for input of size 393216",
        "Worker proc VllmWorker-0 died unexpectedly (exit code: 1), shutting down executor.",
    ],
)
def test_what_is_never_the_cause(text: str) -> None:
    assert _causes(_STARTED + text) == ()


def test_a_line_of_source_is_not_what_was_said() -> None:
    (cause,) = _causes(
        '    raise ValueError("Failed to promote local KV cache specs to one unified type.")\n'
        "ValueError: Failed to promote local KV cache specs to one unified type."
    )
    assert cause.evidence.startswith("ValueError: ")
    # A log of JSON objects has all of it in one line.
    (cause,) = _causes(
        r'{"m": "Traceback\n    raise ValueError(x)\nValueError: No common block size for 4"}'
    )
    assert cause.id == "no-common-block-size"


def test_why_a_value_is_refused() -> None:
    (cause,) = _causes(
        "vllm serve: error: argument --kv-transfer-config: 1 validation error for "
        "KVTransferConfig\n  Invalid JSON: key must be a string at line 1 column 2 "
        "[type=json_invalid, input_value='{kv_connector: X}', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/json_invalid"
    )
    assert cause.details[0].startswith("--kv-transfer-config: ")
    assert cause.details[1].startswith("Invalid JSON: key must be a string")


def test_figures_of_the_engine() -> None:
    (cause,) = _causes(_TOO_LONG)
    assert cause.details == (
        "65536 tokens need 0.19 GiB of KV cache, and 0.03 GiB are there",
        "the longest that fits, by vLLM's own estimate: 10240 tokens",
    )
    # vLLM 0.11 to 0.20 spelt it so, and may have no estimate.
    (older,) = _causes(
        "ValueError: To serve at least one request with the models's max seq len (2000000), (22.89 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (20.89 GiB)."
    )
    assert older.details == ("2000000 tokens need 22.89 GiB of KV cache, and 20.89 GiB are there",)
    # Cut short by whoever passed it on.
    (cut,) = _causes(
        "... 6.0 GiB KV cache is needed, which is larger than the available KV cache memory (4.56"
    )
    assert (cut.id, cut.details) == ("request-does-not-fit", ())


def test_the_root_cause_comes_first() -> None:
    text = CASES["lmcache-value"] + "\n" + CASES["cannot-unify"] + "\n" + CASES["disk-full"]
    causes = _causes(text)
    assert [cause.id for cause in causes] == ["cannot-unify", "disk-full", "lmcache-value"]
    assert [cause.deadly for cause in causes] == [True, True, False]


def test_an_lmcache_that_goes_on_without_memory_does_not_end_the_server() -> None:
    (cause,) = _causes(CASES["host-memory-refused"])
    assert not cause.deadly
    assert cause.details == ("536870916096 bytes were asked for",)


def test_the_exception_behind_a_degraded_lmcache() -> None:
    (cause,) = _causes(_DEGRADED + "TypeError: %d format: a real number is required, not NoneType")
    assert cause.details == ("TypeError: %d format: a real number is required, not NoneType",)
    # Of that process, and of no other.
    log = FailureLog()
    for line in _DEGRADED.splitlines():
        log.feed("worker", line)
    log.feed("server", "ValueError: something else")
    assert log.causes()[0].details == ()


def test_news_are_told_once_and_are_not_deadly() -> None:
    log = FailureLog()
    for text in ("LMCache WARNING: fine", CASES["lmcache-value"], CASES["cannot-unify"]):
        log.feed("vllm", text)
    assert [cause.id for cause in log.news()] == ["lmcache-value"]
    log.feed("vllm", CASES["lmcache-value"])
    assert log.news() == ()
    log.feed("vllm", _DEGRADED.splitlines()[0])
    assert [cause.id for cause in log.news()] == ["lmcache-not-initialised"]


def test_hashes_that_differ() -> None:
    one, other = (f"LMCache INFO: Initialized NONE_HASH={n} from vLLM" for n in ("b'1'", "b'2'"))
    assert [cause.id for cause in _causes(f"{one}\n{one}\n{other}")] == ["hashes-differ"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (-9, ["killed"]),
        (137, ["killed"]),
        (-7, ["shared-memory-full"]),
        (-11, ["crashed"]),
        (0, []),
        (1, []),
        (-15, []),
    ],
)
def test_exit_statuses(status: int, expected: list[str]) -> None:
    log = FailureLog()
    log.ended("vllm", status)
    assert [cause.id for cause in log.causes()] == expected


@pytest.mark.parametrize(
    ("where", "status", "expected"),
    [
        ("container", 137, ["killed"]),
        ("container", 1, ["killed"]),
        ("machine", 137, ["killed"]),
        # It may have been somebody else's.
        ("machine", 1, []),
    ],
)
def test_the_kernel_ends_processes_for_want_of_memory(
    where: Literal["container", "machine"], status: int, expected: list[str]
) -> None:
    log = FailureLog()
    log.ended("vllm", status)
    log.ran_out_of_memory(where)
    assert [cause.id for cause in log.causes()] == expected
    assert all("for want of memory" in f"{cause}" for cause in log.causes())


def test_an_unknown_failure_keeps_the_engines_words() -> None:
    log = FailureLog()
    for line in (
        "(EngineCore pid=9) ERROR [core.py:1510] EngineCore failed to start.",
        "(EngineCore pid=9) ERROR [core.py:1510] RuntimeError: Worker failed with error 'Dimension "
        "out of range (got 2)', please check the stack trace above for the root cause",
        *_LAST_WORDS.splitlines(),
    ):
        log.feed("vllm", line)
    assert log.causes() == ()
    assert log.unexplained() == "Dimension out of range (got 2)"
    assert "Dimension out of range" in render_failures(log, lambda text, _style: text)


def test_an_exception_of_a_server_that_serves_is_no_failure() -> None:
    log = FailureLog()
    log.feed("vllm", "ValueError: a package could not be imported, and it does without")
    assert log.unexplained() is not None
    log.feed("vllm", "INFO:     Application startup complete.")
    log.feed("vllm", "ValueError: a request was wrong")
    assert log.unexplained() is None
    log.feed("vllm", "ERROR [core.py:1520] EngineCore encountered a fatal error.")
    log.feed("vllm", "ERROR [core.py:1520] IndexError: index 7 is out of bounds")
    assert log.unexplained() == "IndexError: index 7 is out of bounds"


@pytest.mark.parametrize(
    "line",
    [
        ": error: argument --" + "a" * 20000,
        "GiB KV cache is needed, which is larger than the available KV cache memory"
        + "max seq len (1), (1 GiB KV cache is needed" * 400,
        "is less than desired GPU memory utilization" + "(1/1 GiB) on startup" * 900,
        "r: " + "Error" * 4000,
        "raise " * 3000,
    ],
)
def test_no_line_takes_long(line: str) -> None:
    began = time.process_time()
    _causes(line)
    assert time.process_time() - began < 0.5


def test_secrets_stay_hidden() -> None:
    (cause,) = _causes("vllm: error: unrecognized arguments: --hf_token=hf_aaaaaaaaaaaaaaaaaaaaaa")
    assert "hf_aaaa" not in f"{cause}"


def test_only_the_last_start_of_a_log_counts() -> None:
    log = diagnose_stream(
        io.StringIO(_STARTED + _TOO_LONG + _LAST_WORDS + _STARTED + "INFO ready\n")
    )
    assert log.causes() == ()


def test_output_and_errors_in_two_files_in_any_order(tmp_path: Path) -> None:
    output, errors = tmp_path / "stdout.log", tmp_path / "stderr.log"
    output.write_text(_STARTED + _TOO_LONG + _STARTED + "INFO ready\n")
    errors.write_bytes(_DEGRADED.encode() + b"\xff\xfe\n")
    for paths in ((output, errors), (errors, output)):
        assert [one.id for one in diagnose_files(paths).causes()] == ["lmcache-not-initialised"]


def test_one_screen() -> None:
    log = FailureLog()
    for text in CASES.values():
        for line in text.splitlines():
            log.feed("vllm", line)
    assert len(log.causes()) > 10
    text = render_failures(log, lambda text, _style: text)
    assert len(text.splitlines()) <= 30
    assert "also: " in text


def _diagnosed(*arguments: str, stdin: bytes = b"") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "hmactl", "diagnose", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode()


def test_the_command() -> None:
    status, text = _diagnosed("--format", "json", stdin=b"\xff\n" + _TOO_LONG.encode())
    assert status == 1
    assert [cause["id"] for cause in json.loads(text)["causes"]] == ["request-does-not-fit"]
    assert _diagnosed("-", stdin=_STARTED.encode()) == (0, "no known cause of a failure\n")
    status, text = _diagnosed("no-such-file.log")
    assert status == 2
    assert "no-such-file.log" in text
    assert _diagnosed("-", __file__)[0] == 2


def test_the_data_holds_together() -> None:
    ids = [failure.id for failure in failures()]
    assert len(ids) == len(set(ids))
    rules = {rule.id for rule in all_explained()}
    for failure in failures():
        assert set(failure.explains) <= set(ids) - {failure.id}
        assert set(failure.rules) <= rules
        assert {sign.after for sign in failure.signs} <= {*ids, ""}


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "failures.md").read_text("utf-8") == page()
