"""vLLM and LMCache given as source: wheels and trees, and what is neither."""

import os
import textwrap
import zipfile
from pathlib import Path

import pytest

from hmactl.catalogue.source import place
from hmactl.catalogue.source.place import PlaceError, open_place


def _tree(parent: Path, **files: str) -> Path:
    """A package `p`; the keys are its modules."""
    root = parent / "p"
    root.mkdir(parents=True)
    for name, text in {"__init__": "", **files}.items():
        (root / f"{name}.py").write_text(textwrap.dedent(text))
    return root


def _wheel(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"__init__": "", **files}.items():
            archive.writestr(f"p/{name}.py", text)
        archive.writestr("p-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nVersion: 1.2\n")
    return path


def _has(path: Path, name: str) -> bool:
    with open_place("p", path) as found:
        return found.sources.has(name)


def test_every_form(tmp_path: Path) -> None:
    _tree(tmp_path / "checkout", m="x = 1")
    _tree(tmp_path / "other" / "src", m="x = 1")
    (tmp_path / "checkout" / "p-3.4.dist-info").mkdir()
    forms = {
        _wheel(tmp_path / "p-1.2-py3-none-any.whl", m="x = 1"): "1.2",
        tmp_path / "checkout": "3.4",
        tmp_path / "checkout" / "p": "3.4",
        tmp_path / "other": None,
    }
    for path, version in forms.items():
        with open_place("p", path) as found:
            assert found.version == version, path
            assert found.sources.has("p.m:x")
            assert not found.sources.has("p.m:y")


def test_the_version_that_a_build_wrote(tmp_path: Path) -> None:
    _tree(tmp_path, _version="__version__ = version = '0.33.1.dev2'\n")
    with open_place("p", tmp_path) as found:
        assert found.version == "0.33.1.dev2"


def test_what_is_read_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f"open({str(mark)!r}, 'w')\nx = 1"
    _tree(tmp_path, __init__=text, m=text)
    assert _has(tmp_path, "p.m:x")
    assert not mark.exists()


def test_no_source(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    (tmp_path / "cut.whl").write_bytes(_wheel(tmp_path / "whole.whl").read_bytes()[:-30])
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("q/__init__.py", "")
    for name, words in {
        "missing": "does not exist",
        "empty": "has no package `p`",
        "text": "is neither a directory nor a wheel",
        "cut.whl": "is neither a directory nor a wheel",
        "other.whl": "has no package `p`",
    }.items():
        with pytest.raises(PlaceError, match=words), open_place("p", tmp_path / name):
            pass


def test_a_damaged_member(tmp_path: Path) -> None:
    path = _wheel(tmp_path / "p.whl", m="x = 1\n" * 1000)
    content = bytearray(path.read_bytes())
    at = content.index(b"p/m.py") + 6
    content[at : at + 20] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(PlaceError, match="cannot be read"):
        _has(path, "p.m:x")


def test_a_bomb(tmp_path: Path) -> None:
    path = _wheel(tmp_path / "bomb.whl", m="#" * (100 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(PlaceError, match="larger than 8 MiB"):
        _has(path, "p.m:x")


def test_a_bomb_that_lies_about_its_size(tmp_path: Path) -> None:
    path = _wheel(tmp_path / "bomb.whl", m="#" * (20 << 20))
    content = path.read_bytes().replace((20 << 20).to_bytes(4, "little"), bytes([9, 0, 0, 0]))
    path.write_bytes(content)
    with pytest.raises(PlaceError):
        _has(path, "p.m:x")


def test_many_files_that_are_large_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_MOST_TO_READ", 1000)
    _tree(tmp_path, a="x = 1\n" * 150, b="x = 1\n" * 150)
    assert _has(tmp_path, "p.a:x")
    with open_place("p", tmp_path) as found:
        assert found.sources.has("p.a:x")
        with pytest.raises(PlaceError, match="of source"):
            found.sources.has("p.b:x")


def test_a_huge_file(tmp_path: Path) -> None:
    with (_tree(tmp_path) / "m.py").open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(PlaceError, match="larger than 8 MiB"):
        _has(tmp_path, "p.m:x")


def test_links_out_of_the_tree(tmp_path: Path) -> None:
    root = _tree(tmp_path / "tree", inside="x = 1")
    (tmp_path / "secret.py").write_text("x = 1")
    (root / "out.py").symlink_to(tmp_path / "secret.py")
    (root / "in.py").symlink_to(root / "inside.py")
    (root / "loop.py").symlink_to(root / "loop.py")
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.py")
    assert not _has(tmp_path / "tree", "p.out:x")
    assert _has(tmp_path / "tree", "p.in:x")
    assert not _has(tmp_path / "tree", "p.loop:x")
    assert not _has(tmp_path / "tree", "p.up.secret:x")
    assert not _has(tmp_path / "tree", "p.pipe:x")


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "x = \x00",
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "-" * 200_000 + "1",
        "x = 1" + "+1" * 200_000,
    ],
    ids=["syntax", "null", "parentheses", "signs", "sum"],
)
def test_no_valid_python(tmp_path: Path, text: str) -> None:
    _tree(tmp_path, m=text)
    with open_place("p", tmp_path) as found:
        assert found.sources.tree("p.m") is None
        assert "p.m is" in found.sources.unreadable["p.m"]
