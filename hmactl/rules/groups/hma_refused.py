"""Rules about deployments that work with HMA neither on nor off as they are."""

from hmactl.rules.case import Rule
from hmactl.rules.hma import (
    hma002_cannot_unify,
    hma003_keep_impossible,
    hma004_disable_impossible,
    hma012_neither_works,
)

RULES: tuple[Rule, ...] = (
    hma002_cannot_unify,
    hma003_keep_impossible,
    hma004_disable_impossible,
    hma012_neither_works,
)
