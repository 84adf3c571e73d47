"""Why a server ended, or works without its cache, as far as its log tells."""

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hmactl.catalogue.failures import Failure, Sign, failures
from hmactl.launch.verify.log import last_start
from hmactl.report.redact import redact

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST_LINE = 20_000
_LONGEST_EVIDENCE = 400
# What of a line is looked at closely, on both sides of the words that made it interesting.
_BEFORE, _BEHIND = 300, 1500
# An operator's own text may hold any words; vLLM logs it where requests are logged.
_REQUEST = "Received request"
# A traceback quotes the line that raised before it says what was raised. A backslash is of a log
# that has whole tracebacks in one line of JSON.
_SOURCE = re.compile(r"^[^\\]*\braise \w+\([^\\]*$")
# vLLM's API server says so first of all; what is before it in a log is of an earlier start.
_START = "vLLM API server version"
_EXCEPTION = re.compile(
    r"(?:^|[\s\]|])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout)): (.*)"
)
_WORKER = re.compile(r"Worker failed with error ['\"](.*)['\"], please check")
# Never the cause: what is said once something else has failed, or at any end.
_CONSEQUENCES = (
    "Engine core initialization failed",
    "EngineDeadError",
    "EngineCore encountered an issue",
    "SystemExit",
    "KeyboardInterrupt",
    "CancelledError",
    "BrokenPipeError",
    "WorkerProc initialization failed",
)
# uvicorn says so once it serves.
_UP = "Application startup complete"
# vLLM's engine says so of the exception that follows.
_FATAL = ("EngineCore failed to start", "EngineCore encountered a fatal error")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a server ended, or with ``deadly`` False, why it works without its cache.

    ``who`` is the process whose log said so, ``evidence`` its own words with secrets hidden,
    ``details`` what they say in figures, ``rules`` what ``hmactl explain`` has more in.
    """

    id: str
    title: str
    consequence: str
    fix: str
    evidence: str
    rules: tuple[str, ...]
    details: tuple[str, ...]
    who: str
    deadly: bool


class FailureLog:
    """Reads the lines of one start, of all its processes, and names what is known of them."""

    def __init__(self) -> None:
        self._found: dict[str, Cause] = {}
        self._shown: set[tuple[str, str]] = set()
        self._values: dict[str, str] = {}
        self._news: list[Cause] = []
        self._awaiting: dict[str, str] = {}
        self._fatal = False
        self._up = False
        self._first_fatal: str | None = None
        self._last_exception: str | None = None

    def feed(self, who: str, line: str) -> None:
        """Take one line that the process ``who`` wrote, with or without colours."""
        line = line[:_LONGEST_LINE]
        if "\x1b" in line:
            line = _ESCAPE.sub("", line)
        if _REQUEST in line or ("raise " in line and _SOURCE.search(line)):
            return
        for words, failure, sign in _SIGNS:
            if words in line:
                self._consider(who, line, failure, sign)
        if "[type=" in line and who in self._awaiting:
            self._explain(who, _shortened(line))
        # Cheaper than the regular expression, which few lines need.
        elif "r: " in line or "n: " in line or "t: " in line:
            self._exception(who, line)
        if not self._fatal and any(words in line for words in _FATAL):
            self._fatal = True
        elif not self._up and _UP in line:
            self._up, self._last_exception = True, None

    def ended(self, who: str, status: int) -> None:
        """Take the exit status of a process that nobody asked to end; negative for a signal.

        128 and more are a signal's number as a shell or a container runtime reports it.
        """
        number = -status if status < 0 else status - 128
        name = _BY_SIGNAL.get(number)
        if name is None or name in self._found:
            return
        self._found[name] = _cause(
            _failure(name), who, f"it ended by {signal.Signals(number).name} (status {status})", ()
        )

    def ran_out_of_memory(self, where: Literal["container", "machine"]) -> None:
        """Take that the kernel ended a process there for want of memory while this start ran.

        In the container it was one of this start's; on the machine it only explains one that was
        killed.
        """
        sentence = f"the kernel ended a process of this {where} for want of memory meanwhile"
        found = self._found.get(_KILLED)
        if found is not None:
            self._found[_KILLED] = replace(found, details=(*found.details, sentence))
        elif where == "container":
            self._found[_KILLED] = _cause(_failure(_KILLED), "", sentence, ())

    def causes(self) -> tuple[Cause, ...]:
        """What is known, the root cause first: deadly ones, then the others, each as they came.

        Empty where nothing is known, which a clean stop and an unknown failure have in common.
        """
        by_id = {failure.id: failure for failure in failures()}
        explained = {
            other for name in self._found for other in by_id[name].explains if other in self._found
        }
        causes = []
        for name, cause in self._found.items():
            if name in explained:
                continue
            # A server goes on where what it explains does not end one.
            alive = any(
                other in self._found and not by_id[other].deadly for other in by_id[name].explains
            )
            causes.append(replace(cause, deadly=cause.deadly and not alive))
        return tuple(sorted(causes, key=lambda cause: not cause.deadly))

    def news(self) -> tuple[Cause, ...]:
        """What leaves the server without its cache and was found since this was asked last.

        Such a server answers as if nothing had happened, so nobody asks later.
        """
        found, self._news = self._news, []
        return tuple(found)

    def unexplained(self) -> str | None:
        """The engine's own words about a failure of which no cause is known.

        Of a server that has come up they are only what its engine said when it failed.
        """
        return self._first_fatal or self._last_exception

    def _consider(self, who: str, line: str, failure: Failure, sign: Sign) -> None:
        if sign.after and (who, sign.after) not in self._shown:
            return
        at = line.find(sign.words)
        part = line[max(0, at - _BEFORE) : at + _BEHIND]
        said = sign.match(part)
        if said is None:
            return
        if (
            "differs" in said
            and self._values.setdefault(failure.id, said["differs"]) == (said["differs"])
        ):
            return
        self._shown.add((who, failure.id))
        if failure.id in self._found:
            return
        details = []
        for template in sign.details:
            try:
                details.append(redact(template.format_map(said)))
            except KeyError:
                continue
        cause = self._found[failure.id] = _cause(failure, who, _shortened(part), tuple(details))
        if not failure.deadly:
            self._news.append(cause)
        if failure.exception:
            self._awaiting[who] = failure.id

    def _exception(self, who: str, line: str) -> None:
        worker = _WORKER.search(line)
        found = _EXCEPTION.search(line)
        if found is None and worker is None:
            return
        text = worker[1] if worker is not None else "" if found is None else found[0].strip()
        if any(words in text for words in _CONSEQUENCES):
            return
        text = _shortened(text)
        if (worker is not None or self._fatal) and self._first_fatal is None:
            self._first_fatal = text
        if not self._explain(who, text) and not self._up:
            self._last_exception = text

    def _explain(self, who: str, text: str) -> bool:
        """Take the exception of what was found last, or the line in which pydantic has its reason;
        whether it was one."""
        awaiting = self._awaiting.pop(who, None)
        if awaiting is not None:
            cause = self._found[awaiting]
            self._found[awaiting] = replace(cause, details=(*cause.details, text))
        return awaiting is not None


def diagnose_stream(lines: Iterable[str]) -> FailureLog:
    """Read the log of one server, which may hold earlier starts: only the last one counts."""
    log = FailureLog()
    for line in lines:
        if _START in line:
            log = FailureLog()
        log.feed("", line.rstrip("\r\n"))
    return log


def diagnose_files(paths: Sequence[Path]) -> FailureLog:
    """Read the logs of one server, such as its output and its errors. Raises OSError.

    Of each only the last start counts, if it says where that is, and the last 64 MiB.
    """
    log = FailureLog()
    for path in paths:
        for line in last_start(path).splitlines():
            log.feed("", line)
    return log


def _cause(failure: Failure, who: str, evidence: str, details: tuple[str, ...]) -> Cause:
    return Cause(
        failure.id,
        failure.title,
        failure.consequence,
        failure.fix,
        evidence,
        failure.rules,
        details,
        who,
        failure.deadly,
    )


def _failure(identifier: str) -> Failure:
    return next(failure for failure in failures() if failure.id == identifier)


def _shortened(line: str) -> str:
    text = redact(line.strip())
    return text if len(text) <= _LONGEST_EVIDENCE else f"{text[: _LONGEST_EVIDENCE - 3]}..."


_SIGNS = tuple((sign.words, failure, sign) for failure in failures() for sign in failure.signs)
_KILLED = "killed"
_BY_SIGNAL: dict[int, str] = {
    signal.SIGKILL: _KILLED,
    signal.SIGBUS: "shared-memory-full",
    signal.SIGSEGV: "crashed",
}
