"""What is rendered is valid to those who read it: by published schemas, by systemd and bash."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rendering_back import READ_BACK, files, launches, rendered, secrets_of
from test_render_round_trip import DEPLOYMENTS

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import COMMAND_LINE, Setting
from hmactl.finding import Severity
from hmactl.launch.render.env_file import render_env_file
from hmactl.launch.render.model import NotRenderedError
from hmactl.launch.render.shell import render_shell, shell_form
from hmactl.lint import Pins, lint_document
from hmactl.sources.compose.reader import read_compose
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.kubernetes.reader import read_kubernetes
from hmactl.sources.process.program import find_command
from hmactl.sources.process.word import Word
from hmactl.sources.read import read_source
from hmactl.sources.shell.script import read_shell
from hmactl.sources.systemd.reader import read_systemd
from hmactl.verdict.verdict import HMA_OFF, Verdict

READERS = {
    "compose": read_compose,
    "kubernetes": read_kubernetes,
    "shell": read_shell,
    "systemd": read_systemd,
}
NASTY = (
    *("", "-x", "--x=y", "it's", 'say "x"', "a$b ${c} $(d) $$", "100% %h %%", "back\\slash\\n"),
    *("two\nlines\n", "\ttab ", "ümläut 漢字 🚀", "#no comment", "{a: b}", "1e3", "yes", "null"),
    *("`id`", "a;b&c|d<e>f", "~", "*", "!x", "\\", "'", '"', "$", "%", "\x1b[31m", "=", "\\'\""),
)
_OF_A_SHELL = re.compile(r"\d?[<>&|]")
_TEXT = st.text(
    st.one_of(
        st.sampled_from("'\"\\$%{}()[] \n\t#;&|<>!*?~=,`:-"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=12,
)


def _deployment(values: tuple[str, ...]) -> Deployment:
    names = [f"V{number}" for number in range(len(values))]
    return Deployment(
        "p.yaml",
        "nasty",
        Setting("model", "org/model", COMMAND_LINE),
        vllm=tuple(Setting("served-model-name", value, COMMAND_LINE) for value in values),
        env=tuple(Setting(n, v, COMMAND_LINE) for n, v in zip(names, values, strict=True)),
    )


@pytest.mark.parametrize("form", READERS)
@settings(max_examples=60, deadline=None)
@given(values=st.tuples(_TEXT, _TEXT))
@example(values=NASTY)
def test_any_text_comes_back_as_it_was(form: str, values: tuple[str, ...]) -> None:
    # The reader of units takes such words for mistakes: only a shell would understand them.
    assume(form != "systemd" or not any(map(_OF_A_SHELL.match, values)))
    deployment = _deployment(values)
    variables = secrets_of(deployment)
    started = launches(deployment).engine
    given_back = Given({n: Word(v, COMMAND_LINE) for n, v in variables.items()})
    (file,) = files(deployment, form)
    processes = READERS[form]("x", file.text, given_back)
    (process,) = [one for one in processes if find_command(one.argv) is not None]
    command = find_command(process.argv)
    assert command is not None
    assert [word.text for word in command.arguments] == list(started.argv[2:])
    found = {v.name: v.value.text for v in (*process.environment, *command.assignments)}
    assert {**variables, **found} == {**variables, **started.added}


@settings(max_examples=60, deadline=None)
@given(values=st.tuples(_TEXT, _TEXT))
def test_an_environment_file_holds_each_value_or_none_at_all(values: tuple[str, ...]) -> None:
    shown = rendered(_deployment(values))
    if any("\n" in value or "\r" in value for value in values):
        with pytest.raises(NotRenderedError, match="line break"):
            render_env_file(shown)
        return
    (file,) = render_env_file(shown)
    lines = [line for line in file.text.split("\n") if line and not line.startswith("#")]
    assert [line.partition("=")[0] for line in lines] == ["V0", "V1"]
    written = [line.partition("=")[2] for line in lines if "=" in line]
    assert len(written) < len(values) or written == list(values)


def _fake_vllm(directory: Path) -> Path:
    """A program that says what it was started with."""
    program = directory / "vllm"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "print(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.tuples(_TEXT, _TEXT))
@example(values=NASTY)
def test_bash_starts_what_was_checked(tmp_path: Path, values: tuple[str, ...]) -> None:
    deployment = _deployment(values)
    started, program = launches(deployment).engine, _fake_vllm(tmp_path)
    shown = rendered(deployment)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **secrets_of(deployment)}
    for script in (render_shell(shown)[0].text, shell_form(started)):
        text = script.replace("/opt/vllm/bin/vllm", shlex.quote(str(program)))
        done = subprocess.run(
            ["bash"], input=text.encode(), capture_output=True, env=environment, check=True
        )
        arguments, variables = json.loads(done.stdout)
        assert arguments == list(started.argv[1:])
        assert {name: variables[name] for name in started.added} == dict(started.added)


def test_without_its_secret_a_script_starts_nothing(tmp_path: Path) -> None:
    deployment = replace(
        _deployment(()), env=(Setting("HF_TOKEN", "hf_abcdefghijklmnopqrst", COMMAND_LINE),)
    )
    text = render_shell(rendered(deployment))[0].text
    assert "hf_abc" not in text
    text = text.replace("/opt/vllm/bin/vllm", shlex.quote(str(_fake_vllm(tmp_path))))
    done = subprocess.run(
        ["bash"],
        input=text,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "HF_TOKEN" in done.stderr


@pytest.fixture(scope="module")
def compose_specification() -> Draft202012Validator:
    """The compose specification's own schema, which check-jsonschema carries."""
    path = resources("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    return Draft202012Validator(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_compose_files_follow_the_specification(
    name: str, compose_specification: Draft202012Validator
) -> None:
    (file,) = files(DEPLOYMENTS[name], "compose")
    compose_specification.validate(yaml.safe_load(file.text))


def test_the_specification_is_one_that_refuses(compose_specification: Draft202012Validator) -> None:
    document = yaml.safe_load(files(_deployment(NASTY), "compose")[0].text)
    compose_specification.validate(document)
    document["services"]["nasty"]["helthcheck"] = {}
    assert not compose_specification.is_valid(document)
    (manifest, *_) = yaml.safe_load_all(files(_deployment(NASTY), "kubernetes")[0].text)
    manifest["spec"]["template"]["spec"]["containers"][0]["arguments"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.37", strict=True)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_manifests_follow_the_api(name: str) -> None:
    (file,) = files(DEPLOYMENTS[name], "kubernetes")
    for document in yaml.safe_load_all(file.text):
        kubernetes_validate.validate(document, "1.37", strict=True)


def _errors(document: Document, deployment: Deployment) -> tuple[Verdict, set[str]]:
    """The verdict without an engine, and the ids of the errors, for the release of a deployment."""
    pins = Pins(deployment.target.vllm or "0.32.0", deployment.target.lmcache or "0.5.6")
    checked = lint_document(document, pins, lambda _path: None).checked
    return checked.verdict, {f.id for f in checked.findings if f.severity is Severity.ERROR}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_lint_finds_no_other_errors_than_before(name: str) -> None:
    deployment = DEPLOYMENTS[name]
    verdict, before = _errors(Document(name, 0, deployment, ()), deployment)
    decided = replace(
        deployment, hma=HmaPolicy.DISABLE if verdict.flag == HMA_OFF else HmaPolicy.KEEP
    )
    if verdict.flag is None:
        # It would not be rendered.
        return
    variables = {n: Word(v, COMMAND_LINE) for n, v in secrets_of(deployment).items()}
    for form, read_as in READ_BACK.items():
        written = files(decided, form)[0]
        (document,) = read_source(written.name, written.text, read_as, Given(variables))
        _verdict, after = _errors(document, deployment)
        assert after <= before, form


SYSTEMD = shutil.which("systemd-analyze")


def _verify(directory: Path, *, debug: bool = False) -> str:
    """What systemd says about the units of a directory."""
    assert SYSTEMD is not None
    level = {"SYSTEMD_LOG_LEVEL": "debug"} if debug else {}
    done = subprocess.run(
        [SYSTEMD, "verify", *map(str, sorted(directory.glob("*.service")))],
        capture_output=True,
        text=True,
        env={**os.environ, **level},
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd here")
def test_units_are_taken_by_systemd(tmp_path: Path) -> None:
    for number, deployment in enumerate(DEPLOYMENTS.values()):
        units = {file.name: file.text for file in files(deployment, "systemd")}
        for name, text in units.items():
            own = text
            for other in units:
                own = own.replace(other, f"n{number}-{other}")
            for program in ("vllm", "lmcache"):
                own = own.replace(f"/opt/vllm/bin/{program}", "/bin/true")
            (tmp_path / f"n{number}-{name}").write_text(own)
    assert _verify(tmp_path) == ""
    one = next(iter(tmp_path.glob("*.service")))
    one.write_text(one.read_text().replace("Type=exec", "Typ=exec"))
    assert "Unknown key" in _verify(tmp_path)


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd here")
def test_systemd_makes_the_same_words_of_a_unit(tmp_path: Path) -> None:
    # What it says of a unit shows no line breaks, and does not quote a tilde.
    values = tuple(value for value in NASTY if value.isprintable() and value != "~")
    deployment = _deployment(values)
    started = launches(deployment).engine
    (file,) = files(deployment, "systemd")
    text = file.text.replace("/opt/vllm/bin/vllm", "/bin/true")
    (tmp_path / "nasty.service").write_text(text)
    said = _verify(tmp_path, debug=True)
    (line,) = [line for line in said.split("\n") if line.strip().startswith("Command Line: ")]
    # Quoted for a shell, with the variables that are replaced at the start.
    shown_words = f"printf '%s\\0' {line.partition('Command Line: ')[2]}"
    done = subprocess.run(["bash", "-c", shown_words], capture_output=True, check=True, text=True)
    words = done.stdout.split("\0")[1:-1]
    assert [word.replace("$$", "$") for word in words] == list(started.argv[1:])
    shown = [line.strip("\t") for line in said.split("\n") if "\tEnvironment: V" in line]
    assert shown == [f"Environment: {name}={value}" for name, value in started.added.items()]


def test_the_forms_that_are_read_are_all_forms_of_sources() -> None:
    assert set(READ_BACK.values()) <= set(Form)
