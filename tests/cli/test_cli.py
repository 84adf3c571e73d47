"""The command line as an operator meets it, without an engine."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from conftest import PROFILES, Run


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with nothing installed."""
    directory = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    return directory / "bin" / "python"


def test_help_names_every_command(hmactl: Run) -> None:
    done = hmactl("--help")
    assert done.returncode == 0
    for command in ("check", "explain", "schema", "serve"):
        assert f"\n  {command} " in done.stdout
        assert hmactl(command, "--help").returncode == 0


def test_version_says_hmactl_first(hmactl: Run) -> None:
    done = hmactl("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("hmactl 0.")


def test_an_unknown_command_is_wrong_usage(hmactl: Run) -> None:
    assert hmactl("chek").returncode == 2


def test_the_profile_schema_takes_every_ready_profile(hmactl: Run) -> None:
    yaml = pytest.importorskip("yaml")
    schema = json.loads(hmactl("schema", "profile").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    for path in PROFILES.glob("*.yaml"):
        validator.validate(yaml.safe_load(path.read_text("utf-8")))


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("missing.yaml", None, "PRO001"),
        ("empty.yaml", "", "PRO001"),
        ("text.yaml", "just text\n", "PRO005"),
        ("tab.yaml", "model: a/b\nvllm:\n\tport: 1\n", "PRO002"),
        ("deep.yaml", "[" * 1_000_000, "PRO008"),
    ],
)
def test_bad_profiles_are_findings(
    hmactl: Run, tmp_path: Path, bare: Path, name: str, content: str | None, rule: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    done = hmactl("check", "--python", bare, name)
    assert f"{name}" in done.stdout
    assert f"error[{rule}]" in done.stdout
    # Nothing could have been asked of an engine: the findings alone decide.
    assert done.returncode == 1


def test_a_directory_is_no_profile(hmactl: Run, tmp_path: Path, bare: Path) -> None:
    done = hmactl("check", "--python", bare, tmp_path)
    assert done.returncode == 1
    assert "error[PRO001]" in done.stdout


def test_without_an_engine_the_profile_is_still_read(hmactl: Run, bare: Path) -> None:
    done = hmactl("check", "--python", bare, "-", stdin="model: a/b\nvlm: {}\n")
    assert done.returncode == 2
    assert "-:2:1: error[PRO004]" in done.stdout
    assert "hmactl[engine-cpu]" in done.stderr


def test_a_report_without_an_engine_keeps_its_schema(hmactl: Run, bare: Path) -> None:
    schema = json.loads(hmactl("schema", "report").stdout)
    done = hmactl("check", "--format", "json", "--python", bare, "-", stdin="model: a/b\nx: 1\n")
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema)
    assert report["schema"] == "hmactl-report/1"
    (one,) = report["deployments"]
    assert one["verdict"]["decision"] == "unknown"
    assert one["failure"] == "there is no engine to ask"
    assert report["summary"] == {"errors": 1, "warnings": 0, "infos": 0, "suppressed": 0}


def test_a_size_that_is_none(hmactl: Run, bare: Path) -> None:
    done = hmactl("check", "--python", bare, "--kv-cache-memory", "lots", "-", stdin="model: a/b")
    assert done.returncode == 2
    assert "--kv-cache-memory" in done.stderr


def test_serve_takes_one_deployment(hmactl: Run, bare: Path) -> None:
    done = hmactl("serve", "--python", bare, "-", stdin="model: a/b\n---\nmodel: c/d\n")
    assert done.returncode == 2
    assert "2 deployments" in done.stderr


def test_serve_decides_about_hma_itself(hmactl: Run, bare: Path) -> None:
    flag = "--disable-hybrid-kv-cache-manager"
    done = hmactl("serve", "--python", bare, "-", "--", flag, stdin="model: a/b\n")
    assert done.returncode == 2
    assert flag in done.stderr
    assert "`hma:`" in done.stderr


def test_force_needs_a_reason(hmactl: Run, bare: Path) -> None:
    done = hmactl("serve", "--python", bare, "--force", " ", "-", stdin="model: a/b\n")
    assert done.returncode == 2
