"""What a server's log says of its KV cache and its connector."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LARGEST = 64 << 20
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
# Of every release from 0.11.1 to 0.33.0; "CPU" on the CPU platform.
_SIZE = re.compile(r"(?:GPU|CPU|XPU) KV cache size: ([\d,]+) tokens")
_CONCURRENCY = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")
_GROUPS = re.compile(r"kv cache group sizes \(([\d, ]+)\)")
_CONNECTOR = re.compile(r"Creating v1 connector with name: (\S+)")


# vLLM's API server says so first of all.
_START = "API server version"


@dataclass(frozen=True, slots=True)
class Log:
    """What the last start in a log says. None, or empty: it does not say.

    ``groups`` is None for one group, too, and for releases that do not log them.
    """

    text: str
    tokens: int | None
    concurrency: float | None
    groups: int | None
    connectors: tuple[str, ...]

    def line(self, words: str) -> str | None:
        """The first line with these words, without its colours."""
        return next((line.strip() for line in self.text.splitlines() if words in line), None)


def read_logs(paths: Sequence[Path]) -> Log | None:
    """What the logs of one server say together. None without logs. Raises OSError."""
    return _parse("\n".join(map(last_start, paths))) if paths else None


def last_start(path: Path) -> str:
    """What a log has of the last start in it, at most 64 MiB. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _LARGEST))
        return _last_start(file.read(_LARGEST).decode("utf-8", "replace"))


def parse_log(text: str) -> Log:
    """What the text of a log says."""
    return _parse(_last_start(text))


def _parse(text: str) -> Log:
    text = _ESCAPE.sub("", text)
    size, concurrency, groups = _SIZE.search(text), _CONCURRENCY.search(text), _GROUPS.search(text)
    return Log(
        text,
        None if size is None else int(size[1].replace(",", "")),
        None if concurrency is None else float(concurrency[1]),
        None if groups is None else len(groups[1].split(",")),
        tuple(dict.fromkeys(_CONNECTOR.findall(text))),
    )


def _last_start(text: str) -> str:
    start = text.rfind(_START)
    return text if start < 0 else text[start:]
