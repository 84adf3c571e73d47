"""Lines of logs that tell why a server ended, or why it works without its cache."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hmactl.catalogue.data_file import load


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a log that shows a failure: it has ``words`` and ``also``, and not ``unless``.

    ``package`` and ``file`` say whose words they are, ``since`` and ``until`` the oldest and the
    newest release whose source was read and has them in that file ("": not bounded).
    ``after`` is the failure that the same process must have shown before. The line must match
    ``pattern``, too, unless that is only for the figures in ``details``.
    """

    words: str
    package: str
    file: str
    since: str = ""
    until: str = ""
    also: str = ""
    unless: str = ""
    after: str = ""
    pattern: re.Pattern[str] | None = None
    details: tuple[str, ...] = ()

    def match(self, line: str) -> Mapping[str, str] | None:
        """What the line says of the failure by name, empty if nothing; None if it is no sign."""
        if self.also not in line or (self.unless and self.unless in line):
            return None
        if self.pattern is None:
            return {}
        found = self.pattern.search(line)
        if found is None:
            return {} if self.details else None
        return {name: text for name, text in found.groupdict().items() if text is not None}


@dataclass(frozen=True, slots=True)
class Failure:
    """One known failure. ``deadly`` ends a process; the others leave a server without its cache.

    ``explains`` are failures that it replaces, ``rules`` those that ``hmactl explain`` has more
    in. With ``exception`` the exception that is logged after it belongs to it.
    """

    id: str
    title: str
    consequence: str
    fix: str
    signs: tuple[Sign, ...]
    deadly: bool
    rules: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    exception: bool = False


@cache
def failures() -> tuple[Failure, ...]:
    """All of them."""
    data = load("failures.json")
    return tuple(_failure(facts) for facts in data["failures"])


def _failure(facts: dict[str, Any]) -> Failure:
    return Failure(
        facts["id"],
        facts["title"],
        facts["consequence"],
        facts["fix"],
        tuple(_sign(sign) for sign in facts["signs"]),
        facts.get("effect") != "degrades",
        tuple(facts.get("rules", ())),
        tuple(facts.get("explains", ())),
        facts.get("exception", False),
    )


def _sign(facts: dict[str, Any]) -> Sign:
    given = dict(facts)
    if given["package"] == "errno":
        number = int(given["file"])
        given["words"] = f"[Errno {number}] {os.strerror(number)}"
    regex = given.pop("regex", None)
    details = tuple(given.pop("details", ()))
    return Sign(**given, pattern=None if regex is None else re.compile(regex), details=details)
