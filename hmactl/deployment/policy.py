"""What the operator asks of the hybrid KV cache manager (HMA)."""

from enum import StrEnum


class HmaPolicy(StrEnum):
    """``hma:`` of a profile.

    auto: keep HMA where the connector supports it, else disable it where the model can run so,
    else refuse. keep: refuse instead of disabling. disable: always disable, refuse where the
    model cannot run so.
    """

    AUTO = "auto"
    KEEP = "keep"
    DISABLE = "disable"
