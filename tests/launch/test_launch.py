"""What would be started, and how it is shown."""

import shlex
from pathlib import Path

from hmactl.engine.find import Distribution, Engine
from hmactl.launch.launch import plan_launch
from hmactl.launch.render.shell import shell_form
from hmactl.sources.profile import read_profiles

PROFILE = """
model: org/model
vllm:
  max-model-len: 75000
  enforce-eager: true
  api-key: very-secret
connector:
  name: LMCacheConnectorV1
  extra_config: {lmcache.tag: "it's"}
lmcache:
  chunk_size: 256
  remote_url: redis://user:hunter2@cache:6379
env:
  HF_TOKEN: abc
  NOTE: two words
"""
SITE = Path("/opt/engine/lib/site-packages")


def _engine(*, script: bool = True) -> Engine:
    return Engine(
        python=Path("/opt/engine/bin/python"),
        python_version="3.12.3",
        vllm=Distribution("vllm", "0.33.0", SITE),
        vllm_package=SITE / "vllm",
        vllm_script=Path("/opt/engine/bin/vllm") if script else None,
    )


def _launch_words(*, script: bool = True) -> list[str]:
    (document,) = read_profiles("p.yaml", PROFILE)
    assert document.deployment is not None
    launch = plan_launch(
        document.deployment, _engine(script=script), "--the-flag", ["--port", "8001"], {}
    )
    # A shell joins continued lines; shlex keeps the newline.
    return shlex.split(shell_form(launch).replace("\\\n", ""))


def test_the_shell_form_is_one_command_with_the_decision_last() -> None:
    words = _launch_words()
    assert words == [
        "env",
        "LMCACHE_CHUNK_SIZE=256",
        "LMCACHE_REMOTE_URL=${LMCACHE_REMOTE_URL:?}",
        "HF_TOKEN=${HF_TOKEN:?}",
        "NOTE=two words",
        "/opt/engine/bin/vllm",
        "serve",
        "org/model",
        "--max-model-len",
        "75000",
        "--enforce-eager",
        "--api-key",
        "${VLLM_API_KEY:?}",
        "--kv-transfer-config",
        '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", '
        '"kv_connector_extra_config": {"lmcache.tag": "it\'s"}}',
        "--port",
        "8001",
        "--the-flag",
    ]


def test_without_a_console_script_the_module_is_run() -> None:
    words = _launch_words(script=False)
    start = words.index("/opt/engine/bin/python")
    assert words[start : start + 4] == [
        "/opt/engine/bin/python",
        "-m",
        "vllm.entrypoints.cli.main",
        "serve",
    ]
