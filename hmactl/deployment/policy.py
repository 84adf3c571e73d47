"""What the operator asks of the hybrid KV cache manager (HMA)."""

from enum import StrEnum

from hmactl.deployment.setting import Json


class HmaPolicy(StrEnum):
    """``hma:`` of a profile.

    auto: keep HMA where the connector supports it, else disable it where the model can run so,
    else refuse. keep: refuse instead of disabling. disable: always disable, refuse where the
    model cannot run so.
    """

    AUTO = "auto"
    KEEP = "keep"
    DISABLE = "disable"


_SWITCHES = {
    "disable-hybrid-kv-cache-manager": (HmaPolicy.DISABLE, HmaPolicy.KEEP),
    "enable-hybrid-kv-cache-manager": (HmaPolicy.KEEP, HmaPolicy.DISABLE),
}


def asked_by_option(name: str, value: Json) -> HmaPolicy | None:
    """What vLLM's own option asks of HMA, by its long dashed name, ``no-`` forms included.

    ``value`` False is the option switched off. None: the option does not concern HMA.
    """
    switch = _SWITCHES.get(name.removeprefix("no-"))
    if switch is None:
        return None
    return switch[(value is False) is not name.startswith("no-")]
