"""Sentences that several rules share."""

from collections.abc import Sequence

from hmactl.catalogue.connectors import ConnectorFacts
from hmactl.deployment.size import format_gib
from hmactl.engine.answer import Plans


def capacity_loss(plan: Plans) -> str:
    """What HMA off costs: tokens for the same memory, or memory for one request."""
    on, off = plan.hma_on, plan.hma_off
    if on.capacity and off.capacity and off.capacity >= on.capacity:
        return (
            f"{off.capacity:,} tokens of KV cache instead of {on.capacity:,}: with this layout it "
            "costs no capacity"
        )
    if on.capacity and off.capacity:
        return (
            f"{off.capacity:,} tokens of KV cache instead of {on.capacity:,}: "
            f"{1 - off.capacity / on.capacity:.0%} of the capacity is lost"
        )
    if on.bytes_per_request and off.bytes_per_request:
        return (
            f"one request of maximum length needs {format_gib(off.bytes_per_request)} of KV cache "
            f"instead of {format_gib(on.bytes_per_request)}"
        )
    return "the capacity that HMA gives is lost"


def alternatives_text(connectors: Sequence[ConnectorFacts]) -> str:
    """Which installed connectors keep HMA on, as a fix."""
    if not connectors:
        return "no installed connector that does the same job supports HMA"
    listed = "; ".join(f"{c.name} ({c.what})" for c in connectors)
    return f"these installed connectors keep HMA on: {listed}"
