"""What was planned beside what was found, and the verdict on both."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class State(StrEnum):
    """same: as planned. differs: not as planned. unknown: the server does not say, or nothing was
    planned to hold it against."""

    SAME = "same"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)


class Comparison(_Frozen):
    """One thing. ``source`` says where the found value stands, ``meaning`` what a difference
    means or why it is not known."""

    id: str
    what: str
    planned: str | None
    found: str | None
    state: State
    source: str | None = None
    meaning: str | None = None


class Verification(_Frozen):
    """What `hmactl verify --format json` prints.

    ``outcome``: "as-planned", "differs", or "unknown" where nothing could be held against the plan.
    """

    schema_: str = Field("hmactl-verification/1", alias="schema")
    server: str
    version: str | None
    comparisons: tuple[Comparison, ...]
    failure: str | None = Field(None, description="why the server could not be asked, if so")

    @property
    def differs(self) -> bool:
        """Something is not as planned."""
        return any(one.state is State.DIFFERS for one in self.comparisons)

    @property
    def status(self) -> int:
        """The exit status: 0 as planned, 1 something differs, 2 it could not be asked."""
        return 1 if self.differs else 2 if self.failure is not None else 0
