"""Which settings a repository's files come to, and what is said about wrong ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hmactl.cli import main
from hmactl.configuration.configuration import Configuration, overridden
from hmactl.configuration.discover import discover
from hmactl.configuration.effective import effective
from hmactl.configuration.load import load_configuration
from hmactl.configuration.problem import ConfigurationError
from hmactl.configuration.read import read_configuration
from hmactl.finding import Severity

YAML = """\
# how we lint
select: [LMC, hma001]
ignore: [LMC012]
per-path-ignores:
  examples/: [LMC]
  "*.sh": [CLI005]
include: ["deploy/*.yaml"]
exclude: [vendor]
vllm: "0.32.0"
lmcache: 0.5.6
fail-on: warning
baseline: ci/baseline.json
"""
TOML = """\
[project]
name = "x"
vllm = "not this one"

[tool.hmactl]
select = ["LMC", "hma001"]
ignore = [
  "LMC012",
]
include = ["deploy/*.yaml"]
exclude = ["vendor"]
vllm = "0.32.0"
lmcache = "0.5.6"
fail-on = "warning"  # for a start
baseline = "ci/baseline.json"

[tool.hmactl.per-path-ignores]
"examples/" = ["LMC"]
"*.sh" = ["CLI005"]

[tool.other]
select = 1
"""


def _write(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)
    return directory / name


@pytest.mark.parametrize(("name", "text"), [(".hmactl.yaml", YAML), ("pyproject.toml", TOML)])
def test_every_setting(tmp_path: Path, name: str, text: str) -> None:
    path = _write(tmp_path, name, text)
    read = read_configuration(path)
    assert {key: value for key, value, _ in effective(read)} == {
        "select": ["LMC", "HMA001"],
        "ignore": ["LMC012"],
        "per-path-ignores": {"examples/": ["LMC"], "*.sh": ["CLI005"]},
        "include": ["deploy/*.yaml"],
        "exclude": ["vendor"],
        "vllm": "0.32.0",
        "lmcache": "0.5.6",
        "fail-on": "warning",
        "baseline": str(tmp_path / "ci/baseline.json"),
    }
    lines = text.splitlines()
    for key, _, origin in effective(read):
        assert origin.source == str(path)
        assert key in lines[(origin.line or 0) - 1]


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'hmactl'\n")
    read = load_configuration(tmp_path)
    assert read == Configuration()
    assert {str(origin) for _, _, origin in effective(read)} == {"default"}


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    outer = _write(tmp_path, "pyproject.toml", "[tool.hmactl]\nvllm = '0.30.0'\n")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "pyproject.toml").write_text("[project]\nname = 'hmactl'\n")
    assert discover(deep / "x.yaml") == outer
    inner = _write(tmp_path / "a", ".hmactl.yaml", "vllm: 0.32.0\n")
    _write(tmp_path / "a", "pyproject.toml", "[tool.hmactl]\nvllm = '0.31.0'\n")
    assert discover(deep) == inner


def test_the_search_ends_at_the_top_of_the_repository(tmp_path: Path) -> None:
    _write(tmp_path, ".hmactl.yaml", "vllm: 0.32.0\n")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert discover(tmp_path / "repository") is None


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_ends_the_search(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path, ".hmactl.yaml", text)
    assert read_configuration(path) == Configuration(directory=tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        (".hmactl.yaml", "ignore: []\nfail_on: error\n", 2, "a similar key exists: `fail-on`"),
        (".hmactl.yaml", "selct: [LMC]\n", 1, "a similar key exists: `select`"),
        (".hmactl.yaml", "zzz: 1\n", 1, "there are select, ignore"),
        (".hmactl.yaml", "select: LMC\n", 1, "must be a list"),
        (".hmactl.yaml", "select: [12]\n", 1, "must be a list"),
        (".hmactl.yaml", "ignore: [lmc-12]\n", 1, "`LMC-12` is no rule"),
        (".hmactl.yaml", "vllm: 0.32\n", 1, "`vllm` must be a version"),
        (".hmactl.yaml", "fail-on: fatal\n", 1, "error, warning, info"),
        (".hmactl.yaml", "baseline: [a]\n", 1, "must be a path"),
        (".hmactl.yaml", "per-path-ignores: [a]\n", 1, "must be a mapping"),
        (".hmactl.yaml", "per-path-ignores: {a: LMC}\n", 1, "must have a list"),
        (".hmactl.yaml", "- select\n", 1, "is no mapping"),
        (".hmactl.yaml", "ignore: []\nignore: []\n", 2, "ignore"),
        (".hmactl.yaml", "ignore: [\n", 1, "close the bracket"),
        (
            "pyproject.toml",
            "[tool.hmactl]\n\nselct = ['LMC']\n",
            3,
            "a similar key exists: `select`",
        ),
        ("pyproject.toml", "[tool.hmactl]\nvllm = 0.32\n", 2, "`vllm` must be a version"),
        ("pyproject.toml", "[tool.hmactl\n", 1, "is no TOML"),
        ("pyproject.toml", "[tool]\nhmactl = 1\n", None, "is no table"),
    ],
)
def test_what_is_wrong_has_its_line(
    tmp_path: Path, name: str, text: str, line: int | None, words: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(_write(tmp_path, name, text))
    (problem, *_) = raised.value.problems
    assert problem.origin.line == line
    assert words in str(problem)


def test_everything_is_reported_at_once(tmp_path: Path) -> None:
    path = _write(tmp_path, ".hmactl.yaml", "selct: []\nvllm: 1\nfail-on: x\n")
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(path)
    assert [problem.origin.line for problem in raised.value.problems] == [1, 2, 3]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_configuration(tmp_path / "none.yaml")


def test_the_command_line_wins(tmp_path: Path) -> None:
    read = read_configuration(_write(tmp_path, ".hmactl.yaml", YAML))
    said = overridden(read, select=("CLI",), vllm=None, exclude=(), fail_on=Severity.INFO)
    origins = {key: str(origin).rsplit("/", maxsplit=1)[-1] for key, _, origin in effective(said)}
    assert (said.select, said.vllm, said.exclude) == (("CLI",), "0.32.0", ("vendor",))
    assert origins["select"] == origins["fail-on"] == "command line"
    assert origins["vllm"] == ".hmactl.yaml:9:1"


@pytest.mark.parametrize(
    ("rule", "path", "wanted"),
    [
        ("LMC001", "deploy/a.yaml", True),
        ("LMC012", "deploy/a.yaml", False),
        ("CON001", "deploy/a.yaml", False),
        ("LMC001", "examples/deep/a.yaml", False),
        ("HMA001", "examples/a.yaml", True),
        ("LMC001", "other/examples.yaml", True),
    ],
)
def test_which_findings_are_wanted(tmp_path: Path, rule: str, path: str, wanted: bool) -> None:
    read = read_configuration(_write(tmp_path, ".hmactl.yaml", YAML))
    assert read.is_chosen(rule, str(tmp_path / path)) is wanted


def test_without_a_selection_all_are_wanted() -> None:
    assert Configuration().is_chosen("LMC001", "a.yaml")


def test_config_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, ".hmactl.yaml", YAML)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["config", "show", "--format", "json"])
    assert done.exit_code == 0, done.output
    settings = {one["key"]: one for one in json.loads(done.output)["settings"]}
    assert settings["vllm"] == {"key": "vllm", "value": "0.32.0", "origin": ".hmactl.yaml:9:1"}
    text = CliRunner().invoke(main, ["config", "show"]).output
    assert '\nfail-on           "warning"' in text


def test_config_show_of_a_wrong_file(tmp_path: Path) -> None:
    path = _write(tmp_path, "c.yaml", "selct: []\n")
    done = CliRunner().invoke(main, ["config", "show", "--config", str(path)])
    assert done.exit_code == 2
    assert "c.yaml:1:1: there is no setting `selct`" in done.output


def test_configuration_imports_no_pydantic() -> None:
    script = (
        "import sys, hmactl.configuration.load, hmactl.configuration.effective\n"
        "sys.exit(str({'pydantic', 'rich', 'click'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.stderr.strip() == b""
