"""Stores for a judge: one that speaks RESP at a port of this machine, and a dictionary."""

import socketserver
import threading

_KEPT: dict[bytes, bytes] = {}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            words = [self._word() for _ in range(int(line[1:]))]
            self.wfile.write(self._answer(words))
            self.wfile.flush()

    def _word(self) -> bytes:
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:size]

    def _answer(self, words: list[bytes]) -> bytes:
        match words:
            case [b"SET", key, value, *_]:
                _KEPT[key] = value
            case [b"GET", key]:
                value = _KEPT[key]
                return b"$%d\r\n%b\r\n" % (len(value), value)
            case [b"EXISTS", key]:
                return b":%d\r\n" % (key in _KEPT)
        return b"+OK\r\n"


def start() -> int:
    """The port of such a server, which ends with this process."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


class Dictionary:
    """What LMCache asks of its Redis client."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def set(self, key: str, value: bytes) -> None:
        """Keep it."""
        self._kept[key] = bytes(value)

    async def get(self, key: str) -> bytes | None:
        """What was kept."""
        return self._kept.get(key)
