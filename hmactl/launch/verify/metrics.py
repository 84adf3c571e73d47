"""Metrics in the text form of Prometheus."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+-?\d+)?"
)
# A hostile line costs no more than its length: no name is looked for inside of another one.
_LABEL = re.compile(r'(?<!\w)(?P<name>\w++)="(?P<value>(?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric."""

    labels: Mapping[str, str]
    value: float


class Metrics:
    """The samples of one answer of ``/metrics``; lines that are none are passed over."""

    def __init__(self, text: str) -> None:
        self._samples: dict[str, list[Sample]] = {}
        for line in text.splitlines():
            found = _SAMPLE.fullmatch(line.strip())
            if found is None:
                continue
            try:
                value = float(found["value"])
            except ValueError:
                continue
            if not math.isfinite(value):
                continue
            labels = {
                label["name"]: re.sub(r"\\.", lambda m: _ESCAPES.get(m[0], m[0]), label["value"])
                for label in _LABEL.finditer(found["labels"] or "")
            }
            self._samples.setdefault(found["name"], []).append(Sample(labels, value))

    def samples(self, name: str) -> tuple[Sample, ...]:
        """All samples of that name."""
        return tuple(self._samples.get(name, ()))

    def total(self, *names: str) -> float | None:
        """The sum over all engines of the first of these metrics that is there."""
        for name in names:
            if samples := self._samples.get(name):
                return sum(sample.value for sample in samples)
        return None
