"""What other tools run of hmactl, run as they do."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import hmactl

ROOT = Path(hmactl.__file__).parent.parent
BAD = "model: google/gemma-3-4b-it\nvllm: {max-model-len: 8192}\nvlm: {}\n"
MISSPELT = "model: a/b\nconnector: LMCacheConnectorV1\nlmcache: {chunk_sise: 256}\n"
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
    pre_commit, github, *_rest = map(yaml.safe_load, _blocks("yaml"))
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [h["id"] for h in pre_commit["repos"][0]["hooks"]] == [hook["id"]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    step = next(s for s in github["jobs"]["hmactl"]["steps"] if "hmactl@" in s["uses"])
    assert set(step["with"]) <= set(inputs)


@pytest.mark.parametrize(
    ("schema", "block"),
    [("github-actions", None), ("github-workflows", 1), ("gitlab-ci", 2)],
)
def test_what_github_and_gitlab_publish_about_their_files(
    tmp_path: Path, schema: str, block: int | None
) -> None:
    path = ROOT / "action.yml"
    if block is not None:
        path = tmp_path / "of-the-documents.yml"
        path.write_text(_blocks("yaml")[block])
    _check_schema(path, "--builtin-schema", f"vendor.{schema}", accepted=True)
    broken = tmp_path / "broken.yml"
    broken.write_text(path.read_text("utf-8").replace("runs", "ruins").replace("script:", "s:"))
    _check_schema(broken, "--builtin-schema", f"vendor.{schema}", accepted=False)


@pytest.mark.parametrize(
    ("path", "schema", "accepted"),
    [
        ("profiles/gemma-3-4b-multi.yaml", "profile", True),
        ("profiles/tiny-cpu.yaml", "profile", True),
        ("tests/cases/profiles/PRO004-target.yaml", "profile", False),
        ("tests/cases/profiles/PRO005-shapes.yaml", "profile", False),
        ("tests/cases/profiles/PRO006-model.yaml", "profile", False),
        ("profiles/tiny-cpu.yaml", "configuration", False),
    ],
)
def test_our_schemas_as_another_tool_uses_them(path: str, schema: str, accepted: bool) -> None:
    _check_schema(
        ROOT / path, "--schemafile", str(ROOT / "schemas" / f"{schema}.json"), accepted=accepted
    )


def _check_schema(path: Path, *options: str, accepted: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *options, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if accepted else 1), done.stdout + done.stderr


def test_the_documented_configuration(repository: Path) -> None:
    (repository / ".hmactl.yaml").write_text(_blocks("yaml")[3])
    shown = json.loads(_bash(repository, "hmactl config show --format json").stdout)
    assert {one["key"]: one["value"] for one in shown["settings"]}["fail-on"] == "warning"
    assert yaml.safe_load(_blocks("yaml")[3]).keys() <= {one["key"] for one in shown["settings"]}


def test_the_documented_comment(repository: Path) -> None:
    text = _blocks("yaml")[4]
    path = repository / "deploy" / "a.yaml"
    (rule,) = re.findall(r"ignore\[(\w+)\]", text)
    path.write_text(re.sub("#.*\n", "", text))
    command = "hmactl lint --format json --lmcache 0.5.6 --vllm 0.32.0 deploy"
    before = json.loads(_bash(repository, command).stdout)["findings"]
    assert (rule, False) in {(one["id"], one["suppressed"]) for one in before}
    path.write_text(text)
    after = json.loads(_bash(repository, command).stdout)["findings"]
    assert (rule, True) in {(one["id"], one["suppressed"]) for one in after}
    assert "SUP001" not in {one["id"] for one in after}


def test_the_documented_baseline_and_diff(repository: Path) -> None:
    write, diff, *_completion = _blocks("sh")
    path = repository / "deploy" / "a.yaml"
    path.write_text(MISSPELT)
    assert _bash(repository, f"{diff.strip()} > fix.patch").returncode == 0
    assert "+lmcache: {chunk_size: 256}" in (repository / "fix.patch").read_text()
    assert _bash(repository, "hmactl lint").returncode == 1
    assert _bash(repository, write).returncode == 0
    (repository / ".hmactl.yaml").write_text("baseline: .hmactl-baseline.json\n")
    assert _bash(repository, "hmactl lint").returncode == 0
    assert _bash(repository, "patch -s -p1 < fix.patch").returncode == 0
    assert path.read_text() == MISSPELT.replace("sise", "size")


def test_the_documented_exit_statuses(repository: Path) -> None:
    for options, status in [
        ("", 1),
        ("--exit-zero", 0),
        ("--ignore PRO", 0),
        ("--fail-on never", 2),
        ("--config absent.yaml", 2),
        ("--baseline absent.json", 2),
    ]:
        assert _bash(repository, f"hmactl lint {options}").returncode == status, options


def test_the_gitlab_job(repository: Path) -> None:
    job = yaml.safe_load(_blocks("yaml")[2])["hmactl"]
    install, lint = job["script"]
    assert install.startswith("pip install")
    assert _bash(repository, lint).returncode == 1
    report = repository / job["artifacts"]["reports"]["codequality"]
    entries = json.loads(report.read_text())
    assert "deploy/a.yaml" in {entry["location"]["path"] for entry in entries}
    # The fields that GitLab's documentation asks for, and the severities that it knows.
    for entry in entries:
        assert all(entry[name] for name in ("description", "check_name", "fingerprint"))
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not entry["location"]["path"].startswith(("./", "/"))
        assert entry["location"]["lines"]["begin"] >= 1
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


OFFLINE = {
    # What the package needs is found where the tests run; only the package itself is installed.
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way round
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("site-packages")),
}


def _git(directory: Path, *words: str) -> str:
    """Run git there, as somebody, whatever this machine is configured to do."""
    who = {f"GIT_{role}_{what}": "t@t" for role in ("AUTHOR", "COMMITTER") for what in _WHO}
    env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *words], cwd=directory, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


_WHO = ("NAME", "EMAIL")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What others clone: the package as it is now, committed."""
    clone = tmp_path / "hmactl"
    shutil.copytree(ROOT / "hmactl", clone / "hmactl", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".pre-commit-hooks.yaml", "LICENSE", "README.md", "action.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, clone)
    _git(clone, "init", "-q", "-b", "main")
    _git(clone, "add", "-A")
    _git(clone, "commit", "-q", "-m", "x")
    return clone


def test_pre_commit_installs_and_runs_the_hook(repository: Path, source: Path) -> None:
    (text, *_) = _blocks("yaml")
    text = text.replace("https://github.com/OWNER/hmactl", str(source))
    text = text.replace("REVISION", _git(source, "rev-parse", "HEAD"))
    (repository / ".pre-commit-config.yaml").write_text(text)
    _git(repository, "init", "-q")
    _git(repository, "add", "-A")
    run = f"{shlex.quote(sys.executable)} -m pre_commit run --all-files"
    env = {**OFFLINE, "PRE_COMMIT_HOME": str(repository.parent / "cache")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]}
    done = _bash(repository, run, **env)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hmactl lint....." in done.stdout
    assert "deploy/a.yaml:3:1: error[PRO004]" in done.stdout
    (repository / "deploy" / "a.yaml").write_text(GOOD)
    _git(repository, "add", "-A")
    done = _bash(repository, run, **env)
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_action_as_a_runner_runs_it(repository: Path, source: Path) -> None:
    (repository / "b c.yaml").write_text(BAD)
    paths, temporary = repository.parent / "path", repository.parent / "runner temp"
    temporary.mkdir()
    paths.touch()
    action = yaml.safe_load((source / "action.yml").read_text("utf-8"))
    given = {name: str(one["default"]) for name, one in action["inputs"].items()}
    given |= {"python": sys.executable, "sarif-file": "out.sarif", "paths": "deploy\nb c.yaml"}
    expressions = {f"inputs.{name}": value for name, value in given.items()}
    expressions["github.action_path"] = str(source)
    done = None
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        env = {
            name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: expressions[found[1]], text)
            for name, text in step["env"].items()
        }
        added = [*reversed(paths.read_text().split("\n")[:-1]), os.environ["PATH"]]
        env |= {**OFFLINE, "PATH": ":".join(added), "GITHUB_PATH": str(paths)}
        env["RUNNER_TEMP"] = str(temporary)
        done = _bash(repository, step["run"], **env)
        assert done.returncode == (1 if step["name"] == "Lint" else 0), done.stderr
    assert done is not None
    assert done.stdout.count("title=PRO004::") == 2
    results = json.loads((repository / "out.sarif").read_text())["runs"][0]["results"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert uris == {"deploy/a.yaml", "b%20c.yaml"}


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
