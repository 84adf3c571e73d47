"""Every rule, in groups: what cannot concern a deployment is neither asked nor imported."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.form import Form
from hmactl.facts.lmcache import SERVED, in_process
from hmactl.rules.case import Case, Rule
from hmactl.rules.together import RuleTogether
from hmactl.verdict.verdict import Decision

_OVERRIDING = frozenset({KV_TRANSFER_CONFIG, "kv-offloading-size", "kv-offloading-backend"})
_BEYOND_MEMORY = (
    *("local_disk", "remote_url", "enable_pd", "enable_p2p", "enable_async_loading"),
    *("enable_blending", "enable_scheduler_bypass_lookup"),
)
_PLAIN = (None, "naive")


def _any(_case: Case) -> bool:
    return True


def _options(case: Case) -> bool:
    return bool(case.facts.answer.flag_problems)


def _variables(case: Case) -> bool:
    return bool(case.facts.deployment.env)


def _connectors(case: Case) -> bool:
    return case.facts.connector is not None or case.facts.answer.connector is not None


def _children(case: Case) -> bool:
    connectors = (case.facts.connector, case.facts.answer.connector)
    return any(c is not None and (c.children or c.name == "MultiConnector") for c in connectors)


def _fields(case: Case) -> bool:
    connector = case.facts.connector
    return connector is not None and any(one.options for one in connector.walk())


def _overriding(case: Case) -> bool:
    return any(setting.name in _OVERRIDING for setting in case.facts.deployment.vllm)


def _failures(case: Case) -> bool:
    answer = case.facts.answer
    plans = () if answer.plan is None else (answer.plan.hma_on, answer.plan.hma_off)
    connectors = () if answer.connector is None else answer.connector.walk()
    return any(one.error is not None for one in (answer, *plans, *connectors))


def _hma_off(case: Case) -> bool:
    return case.facts.answer.plan is not None and case.verdict.decision is Decision.DISABLE


def _hma_refused(case: Case) -> bool:
    return case.facts.answer.plan is not None and case.verdict.decision is Decision.REFUSE


def _hma_flags(case: Case) -> bool:
    return case.facts.deployment.form is not Form.PROFILE


def _settings(case: Case) -> bool:
    return case.facts.answer.lmcache is not None


def _in_process(case: Case) -> bool:
    return in_process(case.facts) is not None


def _beyond_memory(case: Case) -> bool:
    if (settings := in_process(case.facts)) is None:
        return False
    values = settings.values
    return any(map(values.get, _BEYOND_MEMORY)) or values.get("remote_serde") not in _PLAIN


def _served(case: Case) -> bool:
    written = case.facts.connector
    names = {one.name for one in written.walk()} if written is not None else set()
    server = case.facts.deployment.lmcache_server
    return server is not None or SERVED in names | case.facts.connector_classes


def _limits(case: Case) -> bool:
    deployment, target = case.facts.deployment, case.facts.deployment.target
    if case.facts.answer.config is None and deployment.lmcache_server is None:
        return False  # how many workers share the host is not known
    bounds = (target.memory_bound, deployment.server_memory_bound)
    return any(one is not None for one in (*bounds, target.disk, target.shm, target.memlock))


def _engine(case: Case) -> bool:
    facts, answer = case.facts, case.facts.answer
    if facts.memory is not None or (facts.gpu is not None and facts.gpu.of_this_machine):
        return True
    if answer.config is not None or answer.traits is not None or answer.weights:
        return True
    lmcache, plan = answer.lmcache, answer.plan
    if lmcache is not None and (lmcache.remotes or lmcache.server_refusal is not None):
        return True
    plans = () if plan is None else (plan.hma_on, plan.hma_off)
    return any(one.connector_refusals for one in plans)


class Group(NamedTuple):
    """The rules in a module of `hmactl.rules.groups`.

    Where ``concerns`` says no, none of them has a finding.
    """

    name: str
    concerns: Callable[[Case], bool]


GROUPS = (
    Group("always", _any),
    Group("options", _options),
    Group("variables", _variables),
    Group("connectors", _connectors),
    Group("children", _children),
    Group("fields", _fields),
    Group("overriding", _overriding),
    Group("failures", _failures),
    Group("hma_off", _hma_off),
    Group("hma_refused", _hma_refused),
    Group("hma_flags", _hma_flags),
    Group("settings", _settings),
    Group("in_process", _in_process),
    Group("beyond_memory", _beyond_memory),
    Group("served", _served),
    Group("limits", _limits),
    Group("engine", _engine),
)


def rules_for(case: Case) -> Iterator[Rule]:
    """The rules that may have something to say about that deployment."""
    for group in GROUPS:
        if group.concerns(case):
            yield from _rules(group.name)


def rules_together(cases: Sequence[Case]) -> tuple[RuleTogether, ...]:
    """The rules about deployments that were given in one call; none about a single one."""
    return _rules_together() if len(cases) > 1 else ()


def all_rules() -> tuple[Rule, ...]:
    """Every rule about one deployment, in the order of their ids."""
    rules = (rule for group in GROUPS for rule in _rules(group.name))
    return tuple(sorted(rules, key=lambda rule: rule.ID))


def all_rules_together() -> tuple[RuleTogether, ...]:
    """Every rule about several deployments."""
    return _rules_together()


@cache
def _rules(group: str) -> tuple[Rule, ...]:
    rules: tuple[Rule, ...] = import_module(f"hmactl.rules.groups.{group}").RULES
    return rules


@cache
def _rules_together() -> tuple[RuleTogether, ...]:
    rules: tuple[RuleTogether, ...] = import_module("hmactl.rules.groups.together").RULES
    return rules
