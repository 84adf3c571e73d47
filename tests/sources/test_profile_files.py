"""Files that are no profiles: one finding each, without an exception and without waiting."""

import os
import time
from pathlib import Path

import pytest

from hmactl.finding import Finding, Severity
from hmactl.sources.profile import read_profile_file, read_profiles
from hmactl.sources.source_text import MAX_BYTES

pytestmark = pytest.mark.timeout(20)


def _only_finding(path: Path) -> Finding:
    (document,) = read_profile_file(path)
    assert document.source == str(path)
    assert document.deployment is None
    (finding,) = document.findings
    assert (finding.id, finding.severity) == ("PRO001", Severity.ERROR)
    assert finding.origin.source == str(path)
    return finding


def test_a_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "chat.yaml"
    path.write_text("model: google/gemma-3-4b-it\n")
    (document,) = read_profile_file(path)
    assert document.findings == ()
    assert document.deployment is not None
    assert document.deployment.name == "chat"
    assert document.deployment.source == str(path)


def test_missing(tmp_path: Path) -> None:
    assert "no such file or directory" in _only_finding(tmp_path / "none.yaml").message


def test_directory(tmp_path: Path) -> None:
    assert "is a directory" in _only_finding(tmp_path).message


def test_fifo_without_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "fifo.yaml"
    os.mkfifo(path)
    begin = time.monotonic()
    assert "is not a regular file" in _only_finding(path).message
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_device(device: str) -> None:
    assert "is not a regular file" in _only_finding(Path(device)).message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text("model: a\n")
    path.chmod(0)
    assert "permission denied" in _only_finding(path).message


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
def test_a_regular_file_that_cannot_be_read() -> None:
    assert "cannot be read" in _only_finding(Path("/proc/self/mem")).message


def test_a_path_that_no_file_can_have() -> None:
    assert "cannot be read" in _only_finding(Path("a\0b.yaml")).message


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n", b"---\n...\n"])
def test_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.yaml"
    path.write_bytes(content)
    assert "it is empty" in _only_finding(path).message


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (bytes(range(256)), 2),
        (b"\x7fELF\x02\x01\x01\0\0\0", 1),
        ("model: a\n".encode("utf-16"), 1),
        (b"model: a\nname: caf\xe9\n", 2),
    ],
)
def test_not_text(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(content)
    finding = _only_finding(path)
    assert "is not UTF-8 text" in finding.message
    assert finding.origin.line == line


def test_lone_surrogates_are_not_text() -> None:
    (document,) = read_profiles("-", "model: a\nname: \udce9\n")
    assert [(f.id, f.origin.line) for f in document.findings] == [("PRO001", 2)]


def test_the_largest_file_and_one_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    text = "model: a\n#".ljust(MAX_BYTES, "x")
    path.write_text(text)
    assert read_profile_file(path)[0].findings == ()
    path.write_text(text + "x")
    assert "is larger than 1 MiB" in _only_finding(path).message
    (document,) = read_profiles("-", text + "x")
    assert [f.id for f in document.findings] == ["PRO001"]


def test_an_endless_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "sparse.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "is larger than 1 MiB" in _only_finding(path).message


@pytest.mark.parametrize("start", ["\ufeff", "\r\n", "%YAML 1.1\n---\n"])
def test_beginnings_that_editors_write(tmp_path: Path, start: str) -> None:
    path = tmp_path / "chat.yaml"
    path.write_bytes(f"{start}model: a\r\nvllm:\r\n  seed: 1\r\n".encode())
    (document,) = read_profile_file(path)
    assert document.findings == ()
    assert document.deployment is not None
    assert [s.name for s in document.deployment.vllm] == ["seed"]
