"""What is wrong with a configuration file."""

from dataclasses import dataclass

from hmactl.deployment.setting import Origin


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration file."""

    origin: Origin
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}; {self.fix}"


class ConfigurationError(Exception):
    """A configuration file that cannot be used; ``problems`` are all that it has."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
