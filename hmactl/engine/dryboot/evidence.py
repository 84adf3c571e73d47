"""The engine's own warnings, kept as evidence."""

import logging
import traceback
from pathlib import Path
from typing import Any

_LOGGERS = ("vllm", "lmcache")
# True of the dry boot only: it has the model's config.json and nothing else of it.
_OF_THE_DRY_BOOT = ("has no registered multimodal processor; running in text-only mode",)


class Warnings:
    """Collects what vLLM and LMCache log at WARNING or above, each line once.

    Listens where records are made: both projects replace their handlers more than once.
    """

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.listening = True
        make = logging.getLogRecordFactory()

        def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = make(*args, **kwargs)
            if self.listening and record.levelno >= logging.WARNING:
                self._keep(record)
            return record

        logging.setLogRecordFactory(factory)

    def _keep(self, record: logging.LogRecord) -> None:
        logger = record.name.split(".")[0]
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            message = f"{message}: {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        if logger not in _LOGGERS or any(part in message for part in _OF_THE_DRY_BOOT):
            return
        line = {
            "logger": logger,
            "level": record.levelname.lower(),
            "message": message,
            "where": f"{record.filename}:{record.lineno}",
        }
        if line not in self.lines:
            self.lines.append(line)


def words(error: BaseException) -> str:
    """What an exception says; where it says nothing, the line that raised it."""
    text = str(error).strip()
    if text:
        return text
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    place = f"{last.filename.rpartition('site-packages/')[2]}:{last.lineno}"
    return f"{type(error).__name__} at {place}: {last.line}"


_HERE = Path(__file__).parent
_OF_A_STRANGER = (AttributeError, ImportError, KeyError, NameError, TypeError)


def own_fault(error: BaseException) -> bool:
    """Whether the dry boot raised this itself: it does not know its way in this engine.

    What the engine raises was raised in the engine's own code, or in torch through MetaDevice.
    """
    frames = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    while frames and frames[-1] == _HERE / "meta.py":
        frames.pop()
    strange = isinstance(error, _OF_A_STRANGER) or "does not exist in this build" in str(error)
    return strange and bool(frames) and frames[-1].parent == _HERE
