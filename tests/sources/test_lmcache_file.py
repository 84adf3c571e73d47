"""LMCache's configuration file: found, read, and never trusted."""

import os
from pathlib import Path

import pytest

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import ENVIRONMENT, Area, Origin, Setting, Unknown
from hmactl.sources.lmcache_file import lmcache_file
from hmactl.sources.text_file import MAX_BYTES

AT = Origin("p.yaml", 4, 3)


def _deployment(path: str | None, *unknown: Unknown) -> Deployment:
    env = () if path is None else (Setting("LMCACHE_CONFIG_FILE", path, AT),)
    return Deployment("p.yaml", "p", Setting("model", "m", AT), env=env, unknown=unknown)


def test_settings_stand_where_they_stand_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_text("# cache\nchunk_size: 512\nextra_config:\n  a: 1\n")
    file = lmcache_file(_deployment("l.yaml"), {}, tmp_path)
    assert file is not None
    assert [(s.name, s.value, str(s.origin)) for s in file.settings] == [
        ("chunk_size", 512, "l.yaml:2:1"),
        ("extra_config", {"a": 1}, "l.yaml:3:1"),
    ]


def test_the_shell_names_it(tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_text("{}")
    file = lmcache_file(_deployment(None), {"LMCACHE_CONFIG_FILE": "l.yaml"}, tmp_path)
    assert file is not None
    assert (file.origin, file.text, file.settings) == (ENVIRONMENT, "{}", ())


def test_none_is_named(tmp_path: Path) -> None:
    assert lmcache_file(_deployment(None), {}, tmp_path) is None


def test_it_may_be_named_by_something_that_is_not_known(tmp_path: Path) -> None:
    unknown = Unknown(Area.ENV, "LMCACHE_CONFIG_FILE", "$FILE", AT)
    outer = {"LMCACHE_CONFIG_FILE": "l.yaml"}
    assert lmcache_file(_deployment(None, unknown), outer, tmp_path) is None


@pytest.mark.parametrize("path", ["", "absent.yaml", ".", "fifo", "binary", "large", "a\0b"])
def test_what_is_no_such_file_here(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large").write_bytes(b"#" * (MAX_BYTES + 1))
    file = lmcache_file(_deployment(path), {}, tmp_path)
    assert file is not None
    assert (file.path, file.text, file.settings) == (path, None, ())


@pytest.mark.parametrize("text", ["- 1\n", "a: [\n", "", "text"])
def test_what_is_no_mapping_has_no_settings(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.yaml").write_text(text)
    file = lmcache_file(_deployment("l.yaml"), {}, tmp_path)
    assert file is not None
    assert (file.text, file.settings) == (text, ())
