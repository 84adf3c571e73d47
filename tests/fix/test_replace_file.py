"""A file is replaced as a whole, or stays."""

from pathlib import Path

import pytest

from hmactl.fix.replace_file import ChangedError, replace_file


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_content_and_mode(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_bytes(b"old")
    file.chmod(0o751)
    replace_file(file, b"new\r\n", expected=b"old")
    assert file.read_bytes() == b"new\r\n"
    assert file.stat().st_mode & 0o7777 == 0o751
    assert _names(tmp_path) == ["run.sh"]


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    replace_file(tmp_path / "new", b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_file_that_changed_stays(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"changed")
    with pytest.raises(ChangedError):
        replace_file(file, b"new", expected=b"old")
    assert file.read_bytes() == b"changed"
    assert _names(tmp_path) == ["a"]


def test_a_file_that_is_gone_stays_gone(tmp_path: Path) -> None:
    with pytest.raises(ChangedError):
        replace_file(tmp_path / "a", b"new", expected=b"old")
    assert _names(tmp_path) == []


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        replace_file(tmp_path / "none" / "a", b"new")
