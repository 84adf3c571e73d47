"""Every combination of policy, connector support, model kind and engine rule."""

import pytest

from hmactl.deployment.policy import HmaPolicy
from hmactl.verdict.decide import Possibility, Situation, decide

ON = "--no-disable-hybrid-kv-cache-manager"
OFF = "--disable-hybrid-kv-cache-manager"
YES = Possibility(None)
UNSUPPORTED = Possibility("C does not support HMA")
CANNOT_UNIFY = Possibility("vLLM refuses it: cannot unify")
ENGINE_RULE = Possibility("vLLM refuses it: chunked local attention")

# name: policy, supports_hma, groups, on, off, engine's own default -> decision, default, flag
TABLE = {
    "auto, supported": ("auto", True, 7, YES, YES, True, "keep", "on", ON),
    "auto, no connector": ("auto", "none", 7, YES, YES, True, "keep", "on", ON),
    "auto, old engine turns it off": ("auto", True, 7, YES, YES, False, "keep", "off", ON),
    "auto, unsupported": ("auto", False, 7, UNSUPPORTED, YES, False, "disable", "off", OFF),
    "auto, unsupported, mamba": (
        *("auto", False, 4, UNSUPPORTED, CANNOT_UNIFY, False),
        *("refuse", "fails", None),
    ),
    "auto, supported, mamba": ("auto", True, 4, YES, CANNOT_UNIFY, True, "keep", "on", ON),
    "auto, mamba, old engine": ("auto", True, 4, YES, CANNOT_UNIFY, False, "keep", "fails", ON),
    "auto, engine rule": ("auto", "none", 2, ENGINE_RULE, YES, False, "disable", "off", OFF),
    "auto, one group": ("auto", True, 1, YES, YES, True, "irrelevant", "on", ON),
    "auto, one group, unsupported": (
        *("auto", False, 1, UNSUPPORTED, YES, False),
        *("irrelevant", "off", OFF),
    ),
    "auto, no KV cache": ("auto", "none", 0, YES, YES, True, "irrelevant", "on", ON),
    "auto, class does not load": ("auto", None, 7, YES, YES, None, "unknown", "fails", None),
    "keep, supported": ("keep", True, 7, YES, YES, True, "keep", "on", ON),
    "keep, unsupported": ("keep", False, 7, UNSUPPORTED, YES, False, "refuse", "off", None),
    "keep, one group, unsupported": (
        *("keep", False, 1, UNSUPPORTED, YES, False),
        *("irrelevant", "off", OFF),
    ),
    "disable, supported": ("disable", True, 7, YES, YES, True, "disable", "on", OFF),
    "disable, mamba": ("disable", True, 4, YES, CANNOT_UNIFY, True, "refuse", "on", None),
    "disable, one group": ("disable", True, 1, YES, YES, True, "irrelevant", "on", OFF),
    "engine wants HMA on, connector lacks it": (
        *("auto", False, 7, UNSUPPORTED, YES, True),
        *("disable", "fails", OFF),
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_decision(row: tuple[object, ...]) -> None:
    policy, support, groups, on, off, default_on, decision, default, flag = row
    verdict = decide(
        Situation(
            policy=HmaPolicy(str(policy)),
            connector=None if support == "none" else "C",
            supports_hma=support if isinstance(support, bool) else None,
            groups=groups if isinstance(groups, int) else 0,
            on=on if isinstance(on, Possibility) else YES,
            off=off if isinstance(off, Possibility) else YES,
            default_on=default_on if isinstance(default_on, bool) else None,
        )
    )
    assert (verdict.decision, verdict.engine_default, verdict.flag) == (decision, default, flag)


def test_a_refusal_names_both_obstacles() -> None:
    verdict = decide(Situation(HmaPolicy.AUTO, "C", False, 4, UNSUPPORTED, CANNOT_UNIFY, False))
    assert verdict.reason == "C does not support HMA, and vLLM refuses it: cannot unify"
