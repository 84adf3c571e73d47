"""The seed of Python's hash, where the processes of a server must agree on it."""

from hmactl.rules.case import Case
from hmactl.rules.lmc import lmc009_hash_seed

VARIABLE = "PYTHONHASHSEED"
_SEED = "0"


def hash_seed(case: Case) -> str | None:
    """The value of PYTHONHASHSEED to start the server with; None where it needs none.

    It needs one where LMCache names what it stores by Python's own hash, several processes must
    find what each of them stores, and neither the deployment nor the environment says a seed.
    LMCache's documentation has "0"; servers that share a store agree by it.
    """
    return _SEED if any(lmc009_hash_seed.check(case)) else None
