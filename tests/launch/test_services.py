"""The LMCache server that is started beside an engine, and where the two are asked for health."""

from dataclasses import replace
from pathlib import Path

import pytest

from hmactl.deployment.deployment import Deployment
from hmactl.engine.find import Distribution, Engine
from hmactl.launch.companion import NoCompanionError, plan_companion
from hmactl.launch.launch import Launch
from hmactl.launch.render.shell import shell_form
from hmactl.launch.services import services
from hmactl.sources.profile import read_profiles

SERVER = "lmcache_server: {start: true, l1-size-gb: 60, port: 6555, eviction-policy: LRU%s}\n"
ADDED = {"LMCACHE_CHUNK_SIZE": "256", "HF_TOKEN": "abc"}


def _deployment(more: str) -> Deployment:
    (document,) = read_profiles("p.yaml", f"model: org/model\n{more}")
    assert document.deployment is not None
    return document.deployment


def _engine(directory: Path, *files: str) -> Engine:
    for name in files:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return Engine(
        python=directory / "bin/python",
        python_version="3.12.3",
        lmcache=Distribution("lmcache", "0.5.6", directory / "site"),
    )


COMMAND = "site/lmcache/cli/commands/server.py"


def test_it_runs_in_the_engines_interpreter_with_the_engines_variables(tmp_path: Path) -> None:
    deployment = _deployment(SERVER % "")
    launch = plan_companion(deployment, _engine(tmp_path, COMMAND, "bin/lmcache"), ADDED)
    assert launch is not None
    assert launch.added == ADDED
    assert launch.argv[:2] == (str(tmp_path / "bin/lmcache"), "server")
    assert launch.argv[2:6] == ("--l1-size-gb", "60", "--port", "6555")
    shown = shell_form(launch)
    assert 'HF_TOKEN="${HF_TOKEN:?}"' in shown
    assert shown.splitlines()[3:5] == [
        f"  {tmp_path}/bin/lmcache server \\",
        "  --l1-size-gb 60 \\",
    ]


def test_without_a_script_its_main_function_is_called(tmp_path: Path) -> None:
    launch = plan_companion(_deployment(SERVER % ""), _engine(tmp_path, COMMAND), {})
    assert launch is not None
    python, option, code, command, *_ = launch.argv
    assert (python, option, command) == (str(tmp_path / "bin/python"), "-c", "server")
    assert "lmcache.cli.main" in code


@pytest.mark.parametrize("more", ["", "lmcache_server: {start: false, l1-size-gb: 1}\n"])
def test_none_is_started_that_was_not_asked_for(tmp_path: Path, more: str) -> None:
    assert plan_companion(_deployment(more), _engine(tmp_path, COMMAND), {}) is None


def test_a_release_without_the_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoCompanionError, match=r"LMCache 0\.5\.6 has no `lmcache server`"):
        plan_companion(_deployment(SERVER % ""), _engine(tmp_path), {})
    engine = replace(_engine(tmp_path, COMMAND), lmcache=None)
    with pytest.raises(NoCompanionError, match="has no LMCache"):
        plan_companion(_deployment(SERVER % ""), engine, {})


LAUNCH = Launch(("/bin/vllm", "serve"), {"A": "2"})


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ("", "http://127.0.0.1:8000/health"),
        ("vllm: {host: 0.0.0.0, port: 9000}\n", "http://127.0.0.1:9000/health"),
        ("vllm: {host: '::', port: 9000}\n", "http://[::1]:9000/health"),
        ("vllm: {ssl-certfile: c.pem}\n", "127.0.0.1:8000"),
        ("vllm: {uds: /run/vllm.sock}\n", None),
        ("vllm: {headless: true}\n", None),
        ("vllm: {config: c.yaml}\n", None),
        ("vllm: {config: c.yaml, port: 9000}\n", "http://127.0.0.1:9000/health"),
    ],
)
def test_where_the_engine_is_asked(more: str, where: str | None) -> None:
    (engine,) = services(_deployment(more), LAUNCH, None, {"A": "1", "B": "1"}, 60)
    assert (None if engine.health is None else str(engine.health)) == where
    assert engine.environment == {"A": "2", "B": "1"}


def test_the_lmcache_server_comes_first_and_is_asked_at_its_http_port() -> None:
    options = ", http-host: 0.0.0.0, http-port: 7000"
    first, second = services(_deployment(SERVER % options), LAUNCH, LAUNCH, {}, 60)
    assert (first.name, second.name) == ("lmcache", "vllm")
    assert str(first.health) == "http://127.0.0.1:7000/healthcheck"


def test_requests_in_flight_get_the_time_that_vllm_gives_them() -> None:
    (plain,) = services(_deployment(""), LAUNCH, None, {}, 60)
    (draining,) = services(_deployment("vllm: {shutdown-timeout: 90}\n"), LAUNCH, None, {}, 60)
    assert draining.stop_seconds - plain.stop_seconds == 90
