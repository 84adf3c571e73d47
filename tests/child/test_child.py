"""The limits of the dry boot's process, on real processes that misbehave."""

import os
import sys
import time
from pathlib import Path

import pytest

from hmactl.engine.child import DryBoot, DryBootFailedError, Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")


def _python(tmp_path: Path, program: str) -> Path:
    """An interpreter that runs ``program`` whatever it is asked to run; FD is the answer's."""
    script = tmp_path / "python"
    body = tmp_path / "body.py"
    body.write_text("import json, os, subprocess, sys, time\nFD = int(sys.argv[-1])\n" + program)
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {body} "$@"\n')
    script.chmod(0o755)
    return script


def _run(tmp_path: Path, program: str, limits: Limits) -> tuple[dict[str, object], list[str]]:
    stages: list[str] = []
    python = _python(tmp_path, program)
    with DryBoot(python, {"hello": 0}, dict(os.environ), limits) as boot:
        answer = boot.ask(
            {"question": 1},
            on_stage=stages.append,
            on_ask=lambda question, facts: {"to": question, "facts": facts},
        )
    return answer, stages


def test_a_conversation(tmp_path: Path) -> None:
    program = """
out = os.fdopen(FD, "w")
hello = json.loads(sys.stdin.readline())
request = json.loads(sys.stdin.readline())
def say(**event): print(json.dumps(event), file=out, flush=True)
say(event="stage", stage="one")
say(event="ask", question="how many", facts={"n": 2})
reply = json.loads(sys.stdin.readline())
print("noise on stdout")
say(event="answer", answer={"hello": hello, "request": request, "reply": reply})
"""
    answer, stages = _run(tmp_path, program, Limits(seconds=30))
    assert stages == ["one"]
    assert answer == {
        "hello": {"hello": 0},
        "request": {"question": 1, "id": 1},
        "reply": {"to": "how many", "facts": {"n": 2}},
    }


def test_a_crash_that_comes_after_its_answer_is_not_the_next_ones(tmp_path: Path) -> None:
    program = """
out = os.fdopen(FD, "w")
sys.stdin.readline()
for line in sys.stdin:
    number = json.loads(line)["id"]
    if number == 2: print(json.dumps({"event": "crashed", "id": 1, "status": -9}), file=out)
    print(json.dumps({"event": "answer", "answer": {"n": number}}), file=out, flush=True)
"""
    with DryBoot(_python(tmp_path, program), {}, dict(os.environ), Limits(seconds=30)) as boot:
        for number in (1, 2):
            answer = boot.ask({}, on_stage=lambda _: None, on_ask=lambda *_: {})
            assert answer == {"n": number}


@pytest.mark.parametrize(
    ("program", "limits", "message"),
    [
        ("raise SystemExit(3)", Limits(seconds=30), "ended with exit status 3"),
        ("os.abort()", Limits(seconds=30), "was ended by SIGABRT"),
        ("time.sleep(60)", Limits(seconds=0.5), "gave no answer within 0.5 s"),
        (
            "hog = bytearray(300 << 20); hog[::4096] = b'x' * len(hog[::4096]); time.sleep(60)",
            Limits(seconds=30, memory=200 << 20),
            "more than its limit of 0.2 GiB",
        ),
    ],
    ids=["exit", "abort", "hang", "memory"],
)
def test_failures_are_told_apart(
    tmp_path: Path, program: str, limits: Limits, message: str
) -> None:
    with pytest.raises(DryBootFailedError, match=message):
        _run(tmp_path, program, limits)


def test_the_last_lines_are_evidence(tmp_path: Path) -> None:
    with pytest.raises(DryBootFailedError) as failure:
        _run(tmp_path, "sys.exit('no such device')", Limits(seconds=30))
    assert failure.value.evidence == ("no such device",)
    assert failure.value.stage == "start"


def test_nothing_of_the_group_is_left(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(pid_file)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    with pytest.raises(DryBootFailedError):
        _run(tmp_path, program, Limits(seconds=1.5))
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while _running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(pid)


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
