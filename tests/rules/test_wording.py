"""What HMA off costs, in words."""

from typing import Any

import pytest

from hmactl.engine.answer import Plans
from hmactl.engine.decode import decode
from hmactl.rules.wording import capacity_loss

GIB = 2**30


@pytest.mark.parametrize(
    ("on", "off", "words"),
    [
        ({"tokens": 1000}, {"tokens": 440}, "440 tokens of KV cache instead of 1,000: 56% of"),
        ({"tokens": 1000}, {"tokens": 1170}, "with this layout it costs no capacity"),
        (
            {"bytes_per_request": 3 * GIB},
            {"bytes_per_request": 10 * GIB},
            "needs 10.00 GiB of KV cache instead of 3.00 GiB",
        ),
        ({}, {}, "the capacity that HMA gives is lost"),
    ],
)
def test_cost(on: dict[str, Any], off: dict[str, Any], words: str) -> None:
    plans = decode(Plans, {"hma_on": {"error": None} | on, "hma_off": {"error": None} | off})
    assert words in capacity_loss(plans)
