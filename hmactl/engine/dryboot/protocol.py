"""How the dry boot talks to the hmactl that started it.

JSON lines: requests and replies come in on stdin, events go out on a file descriptor of their
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

    def read(self) -> dict[str, Any] | None:
        """The next line that hmactl sends; None when it has closed its end."""
        line = sys.stdin.readline()
        if not line:
            return None
        value: dict[str, Any] = json.loads(line)
        return value

    def stage(self, name: str) -> None:
        """Say what begins now, for progress and to know where a crash or hang happened."""
        self._send({"event": "stage", "stage": name})

    def ask(self, question: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Ask hmactl for something that only it knows, given these facts."""
        self._send({"event": "ask", "question": question, "facts": facts})
        reply = self.read()
        if reply is None:
            raise EOFError("hmactl went away")
        return reply

    def answer(self, answer: dict[str, Any]) -> None:
        """The last event about a request."""
        self._send({"event": "answer", "answer": answer})

    def crashed(self, request: int, status: int) -> None:
        """Say that the process that worked on a request ended with ``status`` (negative: signal).

        If it had answered before that, this comes too late to matter: hence the request's id.
        """
        self._send({"event": "crashed", "id": request, "status": status})

    def flush(self) -> None:
        """Leave nothing in the buffer for a fork to send a second time."""
        self._out.flush()

    def _send(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event, default=str) + "\n")
        self._out.flush()
