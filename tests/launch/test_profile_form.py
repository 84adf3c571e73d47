"""``hmactl init``: the profile that is written means what its source means."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hmactl.cli import main
from hmactl.deployment.command import KV_TRANSFER_CONFIG, serve_environment
from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.launch.profile_form import profile_form
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.lmcache_file import carried_settings, lmcache_file
from hmactl.sources.profile import read_profiles
from hmactl.sources.read import read_source
from hmactl.sources.supplied import beside

CASES = Path(__file__).parent.parent / "cases" / "sources"
SOURCES = sorted(
    p for p in CASES.glob("*/*") if p.is_file() and p.suffix not in {".expected", ".env"}
)
SECRET = "hf_abcdefghijklmnopqrst"


def _deployments(documents: tuple[Document, ...]) -> list[Deployment]:
    return [d.deployment for d in documents if d.deployment is not None]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CASES)))
def test_the_profile_gives_the_same_deployment(path: Path) -> None:
    given = beside(Given(), path.parent, path.parent)
    text = path.read_text("utf-8")
    before = _deployments(read_source(path.name, text, Form(path.parent.name), given))
    written = profile_form(before, carried_settings(before))
    documents = read_profiles("profile.yaml", written)
    after = _deployments(documents)
    known = [deployment for deployment in before if deployment.model.value is not None]
    if not before:
        assert written == ""
        return
    assert [_meaning(d) for d in after] == [_meaning(d) for d in known]
    refused = {f.id for document in documents for f in document.findings} - {"PRO006"}
    assert refused <= _refused_values(known)


def _refused_values(deployments: list[Deployment]) -> set[str]:
    """A name that no shell could export may stand in a manifest, and not in a profile."""
    names = [s.name for d in deployments for s in d.env]
    return set() if all(name.isidentifier() for name in names) else {"PRO004", "PRO005"}


def _meaning(deployment: Deployment) -> dict[str, Any]:
    """What of a deployment a server could tell, its comments and places apart."""
    options = {s.name: _plain(s.value) for s in deployment.vllm}
    if deployment.connector is not None:
        options[KV_TRANSFER_CONFIG] = deployment.connector.kv_transfer_config()
    environment = serve_environment(deployment)
    file = lmcache_file(deployment, {}, Path(os.devnull))
    if environment.get("LMCACHE_CONFIG_FILE") in {file.path for file in deployment.files}:
        del environment["LMCACHE_CONFIG_FILE"]
        for setting in file.settings if file is not None else ():
            name = f"LMCACHE_{setting.name.upper()}"
            environment.setdefault(name, str(_lower(setting.value)))
    target = asdict(deployment.target)
    del target["gpu_origin"]
    server = deployment.lmcache_server
    return {
        "model": deployment.model.value,
        "name": deployment.name,
        "options": options,
        "hma": deployment.hma,
        "environment": environment,
        "server": None if server is None else {s.name: s.value for s in server.options},
        "target": target,
    }


def _lower(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def test_secrets_are_not_copied(tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(
        f"#!/bin/sh\nexport HF_TOKEN={SECRET} LMCACHE_REMOTE_URL=redis://u:pw123@h:1\n"
        "vllm serve m --api-key sk-9 --port 1\n"
    )
    result = CliRunner().invoke(main, ["init", str(script)])
    assert result.exit_code == 0
    for hidden in (SECRET, "pw123", "sk-9"):
        assert hidden not in result.output
    assert "HF_TOKEN" in result.output
    assert "port: 1" in result.output


def test_a_file_is_only_overwritten_when_asked(tmp_path: Path) -> None:
    script, profile = tmp_path / "serve.sh", tmp_path / "profile.yaml"
    script.write_text("#!/bin/sh\nvllm serve m\n")
    profile.write_text("mine\n")
    refused = CliRunner().invoke(main, ["init", str(script), "-o", str(profile)])
    assert refused.exit_code == 2
    assert profile.read_text() == "mine\n"
    done = CliRunner().invoke(main, ["init", str(script), "-o", str(profile), "--force"])
    assert done.exit_code == 0
    assert profile.read_text().startswith("# serve, from ")
