"""What other tools run of hmactl, run as they do."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import hmactl

ROOT = Path(hmactl.__file__).parent.parent
BAD = "model: google/gemma-3-4b-it\nvllm: {max-model-len: 8192}\nvlm: {}\n"
GOOD = "model: meta-llama/Llama-3.1-8B-Instruct\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a profile, a YAML file that is none, and hmactl on the PATH."""
    work = tmp_path / "work"
    (work / "deploy").mkdir(parents=True)
    (work / "deploy" / "a.yaml").write_text(BAD)
    (work / "other.yaml").write_text("- just\n- a list\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "hmactl"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hmactl "$@"\n')
    program.chmod(0o755)
    return work


def _bash(repository: Path, script: str, **env: str) -> "subprocess.CompletedProcess[str]":
    path = f"{repository.parent / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=repository,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def _steps() -> list[dict[str, Any]]:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    return list(action["runs"]["steps"])


def _lint(repository: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    (step,) = (step for step in _steps() if step["name"] == "Lint")
    given = {"PATHS": ".", "ARGS": "", "SARIF_FILE": ""}
    assert set(step["env"]) == set(given)
    return _bash(repository, step["run"], **{**given, **env})


def test_the_pre_commit_hook_finds_and_is_quiet(repository: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    done = _bash(repository, hook["entry"])
    assert done.returncode == 1, done.stderr
    assert "deploy/a.yaml:3:1: error[PRO004]" in done.stdout
    (repository / "deploy" / "a.yaml").write_text(GOOD)
    done = _bash(repository, hook["entry"])
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("path", "triggers"),
    [
        ("deploy/a.yaml", True),
        ("Dockerfile", True),
        ("docker/Dockerfile.gpu", True),
        ("run.sh", True),
        ("vllm.service", True),
        ("README.md", False),
        ("src/a.py", False),
    ],
)
def test_what_triggers_the_hook(path: str, triggers: bool) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert bool(re.search(hook["files"], path)) is triggers


def test_the_action_annotates_and_writes_sarif(repository: Path) -> None:
    done = _lint(repository, SARIF_FILE="out.sarif")
    assert done.returncode == 1, done.stderr
    assert "::error file=deploy/a.yaml,line=3,col=1,title=PRO004::" in done.stdout
    results = json.loads((repository / "out.sarif").read_text())["runs"][0]["results"]
    assert "PRO004" in {result["ruleId"] for result in results}


def test_the_action_takes_several_paths_and_options(repository: Path) -> None:
    (repository / "b c.yaml").write_text(BAD)
    done = _lint(repository, PATHS="b c.yaml\nother.yaml\n", ARGS="--select=PRO004\n--exit-zero")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("::error ") == 1
    assert "file=b c.yaml," in done.stdout


def test_the_action_runs_nothing_of_its_input(repository: Path) -> None:
    nasty = "$(touch pwned); `touch pwned`; touch pwned"
    _lint(repository, PATHS=nasty, ARGS=f"--select={nasty}", SARIF_FILE="a; touch pwned")
    assert not (repository / "pwned").exists()


def test_the_action_has_no_expression_in_a_script() -> None:
    assert not any("${{" in step["run"] for step in _steps())


def _blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_documents_name_what_there_is() -> None:
    pre_commit, github, _gitlab = map(yaml.safe_load, _blocks("yaml"))
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [h["id"] for h in pre_commit["repos"][0]["hooks"]] == [hook["id"]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    step = next(s for s in github["jobs"]["hmactl"]["steps"] if "hmactl@" in s["uses"])
    assert set(step["with"]) <= set(inputs)


def test_the_gitlab_job(repository: Path) -> None:
    job = yaml.safe_load(_blocks("yaml")[2])["hmactl"]
    install, lint = job["script"]
    assert install.startswith("pip install")
    assert _bash(repository, lint).returncode == 1
    report = repository / job["artifacts"]["reports"]["codequality"]
    entries = json.loads(report.read_text())
    assert "deploy/a.yaml" in {entry["location"]["path"] for entry in entries}


def test_bash_completes_commands_and_options(repository: Path) -> None:
    script = """
        eval "$(hmactl completion bash)"
        complete -p hmactl >&2
        COMP_WORDS=(hmactl che); COMP_CWORD=1; _hmactl_completion hmactl; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(hmactl lint --fail); COMP_CWORD=2; _hmactl_completion hmactl
        echo "${COMPREPLY[@]}"
    """
    done = _bash(repository, script)
    assert done.stdout.split() == ["check", "--fail-on"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell(repository: Path, shell: str) -> None:
    done = _bash(repository, f"hmactl completion {shell}")
    assert done.returncode == 0, done.stderr
    assert f"_HMACTL_COMPLETE={shell}_complete" in done.stdout
    answer = _bash(
        repository,
        "hmactl",
        _HMACTL_COMPLETE=f"{shell}_complete",
        COMP_WORDS="hmactl expl",
        COMP_CWORD="expl" if shell == "fish" else "1",
    )
    assert "explain" in answer.stdout


def test_another_shell_is_wrong_usage(repository: Path) -> None:
    assert _bash(repository, "hmactl completion tcsh").returncode == 2
