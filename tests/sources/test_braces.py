"""The brace that ends a `${`, in one pass over the text."""

import pytest

from hmactl.sources.braces import closing_braces


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${a}", {0: 3}),
        ("${a${b}c}", {0: 8, 3: 6}),
        ("${a ${b}", {4: 7}),
        ("} ${a}", {2: 5}),
        ("$a {b}", {}),
        ("$${a}", {1: 4}),
    ],
)
def test_braces(text: str, found: dict[int, int]) -> None:
    assert closing_braces(text) == found
