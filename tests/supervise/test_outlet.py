"""Output that nobody reads holds a server back for a while, and not for ever."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from hmactl.launch.supervise import outlet as module
from hmactl.launch.supervise.loop import Loop
from hmactl.launch.supervise.outlet import Outlet
from hmactl.launch.supervise.relay import Relay


@pytest.fixture
def loop() -> Iterator[Loop]:
    with closing(Loop()) as loop:
        yield loop


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Its reading and its writing end; a test closes neither."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def _read(file: int) -> bytes:
    data = b""
    try:
        while chunk := os.read(file, 65536):
            data += chunk
    except BlockingIOError:
        pass
    return data


def _turn_until(loop: Loop, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        loop.later(0.01, lambda: None)
        loop.turn()


def test_a_slow_reader_gets_everything(loop: Loop, pipe: tuple[int, int]) -> None:
    outlet = Outlet(loop, pipe[1])
    text = b"".join(b"%099d\n" % number for number in range(5000))
    outlet.write(text)
    assert outlet.full
    called: list[bool] = []
    outlet.when_room(lambda: called.append(True))
    got = b""

    def all_there() -> bool:
        nonlocal got
        got += _read(pipe[0])
        return len(got) >= len(text)

    _turn_until(loop, all_there)
    assert got == text
    assert called == [True]
    assert not outlet.full


def test_who_never_reads_loses_output_and_is_told(
    loop: Loop, pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STUCK_SECONDS", 0.2)
    outlet = Outlet(loop, pipe[1])
    outlet.write(b"x" * 500_000)
    assert outlet.full
    _turn_until(loop, lambda: not outlet.full)
    outlet.write(b"y" * 1000)  # lost at once
    first = _read(pipe[0])
    second = b""

    def note() -> bool:
        nonlocal second
        second += _read(pipe[0])
        return b"nobody read it\n" in second

    _turn_until(loop, note)
    lost = int(second.split(b"hmactl: ")[1].split()[0])
    kept = (first + second).count(b"x")
    assert kept + lost == 501_000
    assert b"yy" not in second
    outlet.write(b"z\n")
    _turn_until(loop, lambda: _read(pipe[0]) == b"z\n")


def test_a_closed_reader_swallows(loop: Loop) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet(loop, writing)
    outlet.write(b"x" * 500_000)
    assert not outlet.full
    outlet.drain(0.1)
    os.close(writing)


def test_a_line_of_our_own_begins_a_new_one(loop: Loop, pipe: tuple[int, int]) -> None:
    outlet = Outlet(loop, pipe[1])
    outlet.write_line("one")
    outlet.write(b"two")
    outlet.write_line("three")
    outlet.write_line("four")
    assert _read(pipe[0]) == b"one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"o", b"ne\nt", b"wo"], ["one", "two"]),
        ([b"a\r\nb\r", b"\nc"], ["a", "b", "c"]),
        ([b"\rbar 1", b"\rbar 2", b"\rbar 3\n"], ["bar 1", "bar 2", "bar 3"]),
        ([b"a\n\nb\n"], ["a", "", "b"]),
        ([b"\xff\n"], ["\N{REPLACEMENT CHARACTER}"]),
        ([b"x" * 20_000, b"x" * 20_000, b"\n"], ["x" * 16_384, "x" * 16_384, "x" * 7_232]),
    ],
)
def test_lines(loop: Loop, pipe: tuple[int, int], chunks: list[bytes], lines: list[str]) -> None:
    outlet = Outlet(loop, pipe[1])
    reading, writing = os.pipe()
    got: list[str] = []
    relay = Relay(loop, reading, outlet, "[a] ", got.append)
    for chunk in chunks:
        os.write(writing, chunk)
        loop.later(0.05, lambda: None)
        loop.turn()
    os.close(writing)
    relay.finish()
    assert got == lines
    shown = _read(pipe[0]).decode(errors="replace").splitlines()
    assert shown == [f"[a] {line}" for line in lines]
