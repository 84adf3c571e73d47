"""The output of a server on its way to ours."""

import os
from collections.abc import Callable, Iterable, Iterator

from hmactl.launch.supervise.loop import READ, Loop
from hmactl.launch.supervise.outlet import Outlet

_READ_BYTES = 65536
_LINE_BYTES = 16 * 1024


class Relay:
    """Passes on what comes out of a pipe, line by line and with ``prefix`` in front of each.

    With an empty prefix it is passed on as it comes, byte for byte. ``on_line`` gets each line as
    text either way. A progress bar, which goes back to the start of its line, is a line each time,
    and a line of more than 16 KiB is several.
    """

    def __init__(
        self,
        loop: Loop,
        pipe: int,
        outlet: Outlet,
        prefix: str,
        on_line: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._pipe = pipe
        self._outlet = outlet
        self._prefix = prefix.encode()
        self._on_line = on_line
        self._rest = b""
        self._open = True
        os.set_blocking(pipe, False)
        loop.watch(pipe, READ, self._read)

    def finish(self) -> None:
        """Pass on what is there already, although somebody may still hold the other end, and
        close."""
        while self._open:
            try:
                self._take(os.read(self._pipe, _READ_BYTES))
            except BlockingIOError:
                self._take(b"")

    def _read(self) -> None:
        try:
            self._take(os.read(self._pipe, _READ_BYTES))
        except BlockingIOError:
            return
        if self._open and self._outlet.full:
            self._loop.unwatch(self._pipe)
            self._outlet.when_room(self._resume)

    def _resume(self) -> None:
        if self._open:
            self._loop.watch(self._pipe, READ, self._read)

    def _take(self, data: bytes) -> None:
        lines = list(self._lines(data))
        if not self._prefix:
            self._outlet.write(data)
        elif lines:
            self._outlet.write(b"".join(self._prefix + line + b"\n" for line in lines))
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))
        if not data:
            self._open = False
            self._loop.unwatch(self._pipe)
            os.close(self._pipe)

    def _lines(self, data: bytes) -> Iterator[bytes]:
        *lines, rest = (self._rest + data).split(b"\n")
        if not data and rest:
            lines, rest = [*lines, rest], b""
        for line in lines:
            parts = line.rstrip(b"\r").split(b"\r")
            yield from _bounded(part for part in parts if part or len(parts) == 1)
        # At the very end it may be the first half of a line's end.
        bars, rest = rest[:-1].split(b"\r"), rest[-1:]
        rest = bars.pop() + rest
        yield from _bounded(bar for bar in bars if bar)
        if len(rest) >= _LINE_BYTES:
            whole = len(rest) - len(rest) % _LINE_BYTES
            yield from _bounded([rest[:whole]])
            rest = rest[whole:]
        self._rest = rest


def _bounded(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield from (line[at : at + _LINE_BYTES] for at in range(0, len(line) or 1, _LINE_BYTES))
