"""What a rule looks at, and what every rule module offers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from hmactl.deployment.setting import COMMAND_LINE, Origin
from hmactl.facts.facts import Facts
from hmactl.finding import Finding, Severity
from hmactl.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """A deployment's facts and the verdict on it."""

    facts: Facts
    verdict: Verdict

    @property
    def connector_origin(self) -> Origin:
        """Where the operator chose the connector."""
        connector = self.facts.connector
        return self.facts.deployment.model.origin if connector is None else connector.origin

    def flag_origin(self, name: str) -> Origin:
        """Where the operator set that vLLM option; the model's place if nowhere."""
        setting = self.facts.deployment.vllm_setting(name)
        return self.facts.deployment.model.origin if setting is None else setting.origin

    def nth_flag_origin(self, index: int) -> Origin:
        """Where the flag with that index in the dry boot's request was written."""
        flags = self.facts.deployment.vllm
        if index < len(flags):
            return flags[index].origin
        if index == len(flags) and self.facts.deployment.connector is not None:
            return self.connector_origin
        return COMMAND_LINE


class Rule(Protocol):
    """A rule module. Its docstring is what ``hmactl explain`` prints."""

    @property
    def ID(self) -> str:  # noqa: N802 - a constant of the module
        """Stable for ever."""
        ...

    @property
    def SEVERITY(self) -> Severity:  # noqa: N802
        """Of all its findings."""
        ...

    def check(self, case: Case, /) -> Iterable[Finding]:
        """The findings of this rule in that case."""
        ...
