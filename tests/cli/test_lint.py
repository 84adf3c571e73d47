"""``hmactl lint`` as CI runs it: no engine, exit status, forms, directories, baselines, fixes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hmactl.cli import main

CONFIG = """'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'"""
BAD = (
    "#!/bin/sh\nLMCACHE_CHUNK_SIZE=256\n"
    f"vllm serve google/gemma-3-4b-it --max-model-length 9 --kv-transfer-config {CONFIG}\n"
)
GOOD = "#!/bin/sh\nvllm serve google/gemma-3-4b-it --max-model-len 8192\n"
MISSPELT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: lmcache}
data:
  lmcache.yaml: |
    chunk_size: 250   # tokens
    max_local_cpu_sise: 20
---
apiVersion: v1
kind: Pod
metadata: {name: gemma}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.32.0
    args: [--model, google/gemma-3-4b-it, --kv-transfer-config, 'CONFIG']
    env: [{name: LMCACHE_CONFIG_FILE, value: /etc/lmcache/lmcache.yaml}]
    volumeMounts: [{name: config, mountPath: /etc/lmcache}]
  volumes: [{name: config, configMap: {name: lmcache}}]
""".replace("'CONFIG'", CONFIG)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _lint(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["lint", *arguments], input=given)


def _ids(result: Result) -> list[str]:
    return [finding["id"] for finding in json.loads(result.stdout)["findings"]]


def test_findings_and_exit_status(there: Path) -> None:
    (there / "bad.sh").write_text(BAD)
    (there / "good.sh").write_text(GOOD)
    found = _lint("bad.sh", "good.sh", "--vllm", "0.32.0", "--format", "json")
    assert found.exit_code == 1
    assert _ids(found) == ["ENV003", "CLI001", "HMA001"]
    assert _lint("bad.sh", "--exit-zero").exit_code == 0
    good = _lint("good.sh", "--vllm", "0.32.0")
    assert (good.exit_code, good.stdout) == (0, "")


def test_rules_are_chosen(there: Path) -> None:
    (there / "bad.sh").write_text(BAD)
    chosen = ("bad.sh", "--vllm", "0.32.0", "--format", "json")
    assert _ids(_lint(*chosen, "--select", "cli,HMA")) == ["CLI001", "HMA001"]
    assert _ids(_lint(*chosen, "--ignore", "CLI001,ENV")) == ["HMA001"]
    assert _lint(*chosen, "--select", "HMA").exit_code == 0
    assert _lint(*chosen, "--select", "HMA", "--fail-on", "warning").exit_code == 1
    counted = _lint("bad.sh", "--vllm", "0.32.0", "--statistics")
    assert "1  HMA001  warning" in counted.stdout


def test_a_version_that_is_not_known_is_every_version(there: Path) -> None:
    (there / "a.sh").write_text(
        "#!/bin/sh\nvllm serve m --attention-backend FLASHINFER --no-such-flag\n"
    )
    assert _ids(_lint("a.sh", "--format", "json")) == ["CLI001"]
    found = _lint("a.sh")
    assert "the vLLM version is not known" in found.stderr
    assert "no-such-flag" in found.stdout
    # An option that came later is wrong only for a release that lacks it.
    old = _lint("a.sh", "--vllm", "0.11.1", "--format", "json")
    assert _ids(old) == ["CLI001", "CLI001"]
    (there / "requirements.txt").write_text("lmcache==0.5.6\nvllm==0.11.1\n")
    assert _ids(_lint("a.sh", "--format", "json")) == ["CLI001", "CLI001"]


def test_directories_as_git_sees_them(there: Path) -> None:
    (there / ".git").mkdir()
    (there / ".gitignore").write_text("build/\n*.bak.sh\n")
    for name in ("a/serve.sh", "build/serve.sh", "a/old.bak.sh", "node_modules/x.sh", "b/run"):
        path = there / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(BAD)
    (there / "notes.md").write_text("vllm serve m --no-such-flag\n")
    (there / "link.sh").symlink_to("a/serve.sh")
    (there / "other.yaml").write_text("kind: Service\nspec: [\n")
    found = json.loads(_lint("--select", "ENV003", "--format", "json").stdout)["findings"]
    assert [finding["path"] for finding in found] == ["a/serve.sh", "b/run"]
    excluded = _lint("--exclude", "b/*", "--select", "ENV003", "--format", "json")
    assert len(json.loads(excluded.stdout)["findings"]) == 1


def test_nothing_to_judge_is_said(there: Path) -> None:
    (there / "values.yaml").write_text("replicas: 3\n")
    found = _lint(".")
    assert (found.exit_code, found.stdout) == (0, "")
    assert "nothing was judged" in found.stderr
    assert _lint(".", "-q").stderr == ""


def test_standard_input() -> None:
    found = _lint("-", "--select", "ENV003", given=BAD)
    assert found.exit_code == 1
    assert found.stdout.startswith("-:2:1: error[ENV003]")


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "junit"])
def test_every_form_is_written(there: Path, form: str) -> None:
    (there / "bad.sh").write_text(BAD)
    found = _lint("bad.sh", "--format", form)
    assert found.exit_code == 1
    assert "ENV003" in found.stdout


def test_comments_suppress(there: Path) -> None:
    comment = "# hmactl: ignore[ENV003] for the log only\n"
    (there / "bad.sh").write_text(BAD.replace("LMCACHE_CHUNK", f"{comment}LMCACHE_CHUNK"))
    found = json.loads(_lint("bad.sh", "--select", "ENV", "--format", "json").stdout)["findings"]
    assert [(finding["id"], finding["suppressed"]) for finding in found] == [("ENV003", True)]
    assert _lint("bad.sh", "--select", "ENV").exit_code == 0


def test_the_configuration_of_the_repository(there: Path) -> None:
    (there / "bad.sh").write_text(BAD)
    (there / ".hmactl.yaml").write_text('vllm: "0.32.0"\nignore: [ENV003]\nfail-on: warning\n')
    found = _lint("bad.sh", "--format", "json")
    assert _ids(found) == ["CLI001", "HMA001"]
    assert _ids(_lint("bad.sh", "--ignore", "CLI", "--format", "json")) == ["ENV003", "HMA001"]
    (there / ".hmactl.yaml").write_text("ignores: [ENV003]\n")
    wrong = _lint("bad.sh")
    assert wrong.exit_code == 2
    assert "`ignore`" in wrong.stderr


def test_a_baseline(there: Path) -> None:
    (there / "bad.sh").write_text(BAD)
    assert _lint("bad.sh", "--write-baseline", "base.json").exit_code == 0
    assert _lint("bad.sh", "--baseline", "base.json").exit_code == 0
    (there / "bad.sh").write_text(BAD.replace("LMCACHE_CH", "LMCACHE_LOCAL_CPU=1\nLMCACHE_CH"))
    found = json.loads(_lint("bad.sh", "--baseline", "base.json", "--format", "json").stdout)
    new = [f["message"] for f in found["findings"] if not f["suppressed"]]
    assert new == ["`LMCACHE_LOCAL_CPU` is set in the shell but not exported"]
    assert _lint("bad.sh", "--baseline", "nowhere.json").exit_code == 2


def test_fixes(there: Path) -> None:
    path = there / "pod.yaml"
    path.write_text(MISSPELT)
    shown = _lint("pod.yaml", "--diff")
    assert "+    max_local_cpu_size: 20" in shown.stdout
    assert path.read_text() == MISSPELT
    _lint("pod.yaml", "--fix")
    fixed = MISSPELT.replace("max_local_cpu_sise", "max_local_cpu_size")
    assert path.read_text() == fixed
    _lint("pod.yaml", "--fix", "--unsafe-fixes")
    assert path.read_text() == fixed.replace("250   #", "256   #")


def test_options_from_the_environment(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there / "bad.sh").write_text(BAD)
    monkeypatch.setenv("HMACTL_LINT_SELECT", "ENV")
    monkeypatch.setenv("HMACTL_LINT_FORMAT", "json")
    monkeypatch.setenv("HMACTL_LINT_VLLM", "0.32.0")
    assert _ids(_lint("bad.sh")) == ["ENV003"]
