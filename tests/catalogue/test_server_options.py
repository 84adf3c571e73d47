"""The options of `lmcache server`: the reader of LMCache's source, and what the catalogue says."""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.flags import lmcache_server_flags
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Sources, directory_sources
from hmactl.catalogue.source.server_options import server_options
from hmactl.engine.find import Engine

COMMAND = "lmcache/cli/commands/server.py"
CLASS = """
from lmcache.cli.commands.base import BaseCommand
class ServerCommand(BaseCommand):
    def add_arguments(self, parser):
        try:
            from lmcache.config import add_args
            add_args(parser)
        except ImportError:
            return
"""
BASE = """
class BaseCommand:
    def register(self, subparsers):
        parser = subparsers.add_parser("server")
        self.add_arguments(parser)
        _add_output(parser)
def _add_output(parser):
    parser.add_argument("-q", "--quiet", action="store_true")
"""
CONFIG = """
import argparse
SIZE = 2 * 1024
class Defaults:
    port: int = 5555
def add_args(parser):
    group = parser.add_argument_group("g")
    {}
    return add_more(parser)
def add_more(parser):
    parser.add_argument("--more")
"""


def _package(parent: Path, files: dict[str, str]) -> Sources:
    for name, text in files.items():
        path = parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory_sources("lmcache", parent)


def _server(parent: Path, added: str) -> dict[str, Any]:
    files = {
        COMMAND: CLASS,
        "lmcache/cli/commands/base.py": BASE,
        "lmcache/config.py": CONFIG.format(added),
    }
    options: dict[str, Any] = server_options(_package(parent, files))["options"]
    return options


@pytest.mark.parametrize(
    ("added", "facts"),
    [
        ("type=int, default=1", {"takes": "one", "type": "int", "default": 1}),
        ("default=SIZE", {"takes": "one", "default": 2048}),
        ("default=Defaults.port", {"takes": "one", "default": 5555}),
        ("default=made()", {"takes": "one", "default_of": "made()"}),
        ("choices=('a', 'b')", {"takes": "one", "choices": ["a", "b"]}),
        ("choices=found()", {"takes": "one", "choices_of": "found()"}),
        ("nargs='*'", {"takes": "several"}),
        ("action='append'", {"takes": "one"}),
        ("action='store_false'", {"takes": "nothing", "default": True}),
        ("required=True", {"takes": "one", "required": True}),
        (
            "action=argparse.BooleanOptionalAction, default=False",
            {"takes": "nothing", "aliases": ["--no-a-b"], "default": False},
        ),
    ],
)
def test_what_the_parser_is_told(tmp_path: Path, added: str, facts: dict[str, Any]) -> None:
    options = _server(tmp_path, f"group.add_argument('--a-b', {added})")
    assert options["a-b"] == facts
    assert options["more"] == {"takes": "one"}
    assert options["quiet"] == {"takes": "nothing", "aliases": ["-q"], "default": False}
    # And so says a parser that is really told so.
    if "_of" not in str(facts):
        parser = argparse.ArgumentParser()
        names = {"SIZE": 2048, "Defaults": argparse.Namespace(port=5555), "argparse": argparse}
        exec(f"p.add_argument('--a-b', {added})", names | {"p": parser})
        action = parser._actions[-1]
        assert (action.nargs == 0) is (facts["takes"] == "nothing")
        assert action.default == facts.get("default")
        assert set(action.option_strings) == {"--a-b", *facts.get("aliases", ())}


@pytest.mark.parametrize(
    "added", ["group.add_argument(NAME)", "group.add_argument('--a', **more)", "add_gone(parser)"]
)
def test_another_form_is_not_guessed(tmp_path: Path, added: str) -> None:
    with pytest.raises(NotUnderstoodError):
        _server(tmp_path, added)


def test_servers_before_the_command(tmp_path: Path) -> None:
    text = "def parse_args():\n    parser = P()\n    parser.add_argument('--{}')\n"
    files = {
        "lmcache/v1/multiprocess/server.py": text.format("port"),
        "lmcache/v1/multiprocess/http_server.py": text.format("http-port"),
    }
    assert set(server_options(_package(tmp_path, files))["options"]) == {"port", "http-port"}
    assert server_options(_package(tmp_path / "none", {}))["options"] == {}


def test_options_come_and_go() -> None:
    # lmcache.v1.multiprocess.config of the two: --transport is new; 0.3.5 has no server at all.
    assert "--transport" in lmcache_server_flags("0.5.6")
    assert "--transport" not in lmcache_server_flags("0.5.0")
    assert "--port" in lmcache_server_flags("0.4.1")
    assert not lmcache_server_flags("0.3.5").spellings()
    assert "--transport" in lmcache_server_flags()


@pytest.mark.parametrize(
    ("written", "name", "takes", "negative"),
    [
        ("--l1-size-gb", "l1-size-gb", "one", False),
        ("--no-l1-use-lazy", "l1-use-lazy", "nothing", True),
        ("--runtime-plugin-locations", "runtime-plugin-locations", "several", False),
        ("--l2-adapter", "l2-adapter", "one", False),
        ("-q", "quiet", "nothing", False),
    ],
)
def test_how_values_are_taken(written: str, name: str, takes: str, negative: bool) -> None:
    for version in ("0.5.0", "0.5.6", None):
        flag = lmcache_server_flags(version).find(written)
        assert flag is not None
        assert (flag.name, flag.takes, flag.negative) == (name, takes, negative)


ASK = """
import argparse, json
from importlib.metadata import version
from lmcache.cli.commands.server import ServerCommand
commands = argparse.ArgumentParser().add_subparsers()
ServerCommand().register(commands)
options = {}
for action in commands.choices["server"]._actions:
    long = [o for o in action.option_strings if o.startswith("--")]
    options[long[0]] = {
        "others": sorted(o for o in action.option_strings if o != long[0]),
        "takes": "nothing" if action.nargs == 0 else
            "several" if action.nargs in ("*", "+") else "one",
        "choices": [str(choice) for choice in action.choices or ()],
    }
print("\\n" + json.dumps({"version": version("lmcache"), "options": options}))
"""


@pytest.mark.engine
def test_the_installed_server_has_exactly_these(engine: Engine) -> None:
    done = subprocess.run(
        [str(engine.python), "-c", ASK], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    flags, options = lmcache_server_flags(said["version"]), said["options"]
    del options["--help"]
    real = {*options, *(other for facts in options.values() for other in facts["others"])}
    assert flags.spellings() == real
    for written, facts in options.items():
        flag = flags.find(written)
        assert flag is not None
        assert flag.takes == facts["takes"]
        # Some are what is registered when the server runs.
        assert list(flag.choices) in ([], facts["choices"])
