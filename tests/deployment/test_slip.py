"""A slip of the finger: one letter more, less or other, or two exchanged."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.deployment.slip import is_slip

_NAMES = st.text(alphabet="abcd_", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("written", "meant", "answer"),
    [
        ("host", "host", True),
        ("hots", "host", True),
        ("hst", "host", True),
        ("hoost", "host", True),
        ("hast", "host", True),
        ("HOST", "host", True),
        ("max-num_seqs", "max_num_seqs", True),
        ("hash", "host", False),
        ("ohts", "host", False),
        ("ho", "host", False),
        ("hostel", "host", False),
        ("", "a", True),
        ("", "ab", False),
    ],
)
def test_a_slip(written: str, meant: str, answer: bool) -> None:
    assert is_slip(written, meant) is answer
    assert is_slip(meant, written) is answer


def _slips(name: str) -> set[str]:
    """All that one slip makes of a name."""
    letters = "abcd"
    halves = [(name[:n], name[n:]) for n in range(len(name) + 1)]
    less = {a + b[1:] for a, b in halves if b}
    other = {a + c + b[1:] for a, b in halves if b for c in letters}
    more = {a + c + b for a, b in halves for c in letters}
    exchanged = {a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1}
    return {name} | less | other | more | exchanged


@given(_NAMES, _NAMES)
def test_as_all_slips_say(written: str, meant: str) -> None:
    one, other = (name.replace("_", "") for name in (written, meant))
    assert is_slip(written, meant) is (other in _slips(one))


@given(st.text(alphabet=string.ascii_lowercase, min_size=2), st.text(alphabet="xyz", min_size=2))
def test_a_longer_name_is_no_slip(name: str, more: str) -> None:
    assert not is_slip(name, name + more)
