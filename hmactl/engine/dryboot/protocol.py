"""How the dry boot talks to the hmactl that started it.

JSON lines: the request and replies come in on stdin, events go out on a file descriptor of their
own, because the engine and its libraries print on stdout and stderr as they please.
"""

import json
import os
import sys
from typing import Any


class Channel:
    """One conversation. Every event is a JSON object with the key ``event``."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._out = os.fdopen(descriptor, "w", encoding="utf-8")

    def request(self) -> dict[str, Any]:
        """The request: the first line of stdin."""
        return self._read()

    def stage(self, name: str) -> None:
        """Say what begins now, for progress and to know where a crash or hang happened."""
        self._send({"event": "stage", "stage": name})

    def ask(self, question: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Ask hmactl for something that only it knows, given these facts."""
        self._send({"event": "ask", "question": question, "facts": facts})
        return self._read()

    def answer(self, answer: dict[str, Any]) -> None:
        """The last event."""
        self._send({"event": "answer", "answer": answer})

    def _send(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event, default=str) + "\n")
        self._out.flush()

    @staticmethod
    def _read() -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            raise EOFError("hmactl went away")
        value: dict[str, Any] = json.loads(line)
        return value
