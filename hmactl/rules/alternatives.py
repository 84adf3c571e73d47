"""Connectors that would keep HMA on for this model: shared by the rules that refuse or disable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hmactl.catalogue.connector_versions import Hma, connector_support, known_connectors
from hmactl.catalogue.connectors import ConnectorFacts, connector_facts
from hmactl.catalogue.connectors import alternatives as same_purpose
from hmactl.catalogue.limits import Limit, limits
from hmactl.catalogue.upgrades import Upgrade, upgrades
from hmactl.deployment.command import serve_environment
from hmactl.deployment.form import Form
from hmactl.engine.answer import ConnectorAnswer
from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding
from hmactl.rules.blocks import group_blocks, misfit
from hmactl.rules.case import Case, Rule
from hmactl.rules.con import con010_encoder_decoder, plan_refusals
from hmactl.rules.hma import hma006_external_hits
from hmactl.rules.ver import ver001_known_issue
from hmactl.verdict.situation import unsupporting
from hmactl.verdict.verdict import HMA_ON, Decision, Verdict

_STATES = "MambaSpec"
# Each says of a connector that it starts or works with nothing of this model's.
_OBSTACLES: tuple[Rule, ...] = (con010_encoder_decoder, hma006_external_hits, ver001_known_issue)
_SERVER_CHUNK = 256
# A finding is to be read at one glance.
_MOST = 3
# It starts without prefix caching, logs a warning and does nothing.
_IDLE_WITHOUT_CACHING = "SimpleCPUOffloadConnector"


@dataclass(frozen=True, slots=True)
class Alternative:
    """``changes`` are what else this model and its settings take with that connector."""

    facts: ConnectorFacts
    changes: tuple[str, ...] = ()


def alternatives(case: Case) -> tuple[Alternative, ...]:
    """Connectors of this vLLM that do the job of the one without HMA and would work for this model.

    Each installed one was asked what it refuses of the plan with HMA on; what it asks for is a
    change. Without an engine they are the catalogue's.
    """
    found = []
    for facts, connector in _same_purpose(case):
        changed = _with(case, connector)
        changes = None if any(_obstacles(changed)) else _changes(changed)
        if changes is not None:
            found.append(Alternative(facts, changes))
    return tuple(found)


def newer_releases(case: Case) -> tuple[Upgrade, ...]:
    """Newer releases that would let the deployment keep HMA, from the catalogue."""
    versions, lacking = case.facts.answer.versions, _lacking(case)
    if len(lacking) != 1:
        return ()  # one release would have to help them all
    return upgrades(
        lacking[0],
        versions.vllm,
        versions.lmcache,
        serve_environment(case.facts.deployment),
        _limits(case),
    )


def alternatives_text(case: Case) -> str:
    """Which installed connectors would do, what the likeliest take, and which release would help.

    A line for each of the likeliest.
    """
    found = alternatives(case)
    if found:
        lines = [f"{_change(case)} to one that keeps HMA on:"]
        lines += [f"- {_described(one)}" for one in found[:_MOST]]
        if rest := [f"`{one.facts.name}`" for one in found[_MOST:]]:
            lines.append(f"or {' or '.join(rest)}; `hmactl connectors` says more")
        return "\n".join([*lines, *_upgraded(newer_releases(case), _limits(case))])
    if _same_purpose(case):
        said = "no connector of this vLLM that does the same job would work for this model"
    else:
        said = "no connector of this vLLM that does the same job supports HMA"
    return ". ".join([said, *_upgraded(newer_releases(case), _limits(case))])


def _lacking(case: Case) -> tuple[str, ...]:
    """The connector without HMA, or those children of it that are."""
    connector = case.facts.answer.connector
    return () if connector is None else tuple(unsupporting(connector))


def _same_purpose(case: Case) -> list[tuple[ConnectorFacts, ConnectorAnswer]]:
    answer = case.facts.answer
    lacking = (*_lacking(case), None)[0]
    # Without an engine nobody was asked.
    asked = answer.traits is not None or bool(answer.connectors_with_hma)
    having = answer.connectors_with_hma if asked else _of_the_catalogue(case)
    offered = {connector.name: connector for connector in having}
    return [(facts, offered[facts.name]) for facts in same_purpose(lacking, offered)]


def _of_the_catalogue(case: Case) -> Iterator[ConnectorAnswer]:
    versions, environment = case.facts.answer.versions, serve_environment(case.facts.deployment)
    for name in known_connectors():
        found = connector_support(versions.vllm, versions.lmcache, name, environment=environment)
        if found.hma is Hma.YES:
            yield ConnectorAnswer(
                name=name,
                role="kv_both",
                module=found.module,
                class_=found.class_name,
                file=None,
                supports_hma=True,
                error=None,
            )


def _with(case: Case, connector: ConnectorAnswer) -> Case:
    """The same deployment with another connector and HMA on."""
    answer = replace(case.facts.answer, connector=connector)
    verdict = Verdict(Decision.KEEP, None, HMA_ON, case.verdict.reason)
    return Case(replace(case.facts, answer=answer), verdict)


def _obstacles(case: Case) -> Iterator[Finding]:
    for rule in _OBSTACLES:
        yield from rule.check(case)


def _changes(case: Case) -> tuple[str, ...] | None:
    """What else has to change; None where something cannot be helped."""
    changes = tuple(_asked_for(case))
    if plan_refusals.caching(case) in changes and _hits_would_end_it(case):
        return None
    known = tuple(dict.fromkeys(change for change in changes if change is not None))
    return known if None not in changes else None


def _asked_for(case: Case) -> Iterator[str | None]:
    answer = case.facts.answer
    connector, config = answer.connector, answer.config
    if connector is None or answer.plan is None:
        return
    for refusal in answer.plan.hma_on.refusals_of_others:
        if refusal.connector == connector.name:
            yield plan_refusals.change(case, refusal.message)
    idle = connector.name == _IDLE_WITHOUT_CACHING
    if idle and config is not None and not config.enable_prefix_caching:
        yield plan_refusals.caching(case)
    blocks = group_blocks(case) if connector.name == SERVED else None
    if blocks is not None and (fit := misfit(_SERVER_CHUNK, blocks)) is not None:
        yield f"`--chunk-size {fit.nearest}` of the server"


def _hits_would_end_it(case: Case) -> bool:
    """Whether prefix caching would bring Mamba states into a mode in which a hit ends vLLM."""
    traits = case.facts.answer.traits
    refuses = traits is not None and traits.refuses_external_mamba_hits is True
    return refuses and _has_states(case)


def _has_states(case: Case) -> bool:
    return any(layer.spec == _STATES for stage in case.facts.answer.layers for layer in stage)


def _limits(case: Case) -> tuple[Limit, ...]:
    """What of this model this vLLM does not take yet with a connector that does this job."""
    config, vllm = case.facts.answer.config, case.facts.answer.versions.vllm
    if config is None:
        return ()
    facts = connector_facts((*_lacking(case), "")[0])
    # Between two servers states are sent whether or not they are kept for later.
    sent_only = facts is not None and facts.purpose == "transfer"
    kept = _has_states(case) and not (sent_only and config.mamba_cache_mode != "align")
    return tuple(
        limit
        for limit in limits()
        if not limit.is_past(vllm)
        and ((limit.spec == _STATES and kept) or (limit.encoder_decoder and config.encoder_decoder))
    )


def _change(case: Case) -> str:
    lacking, connector = _lacking(case), case.facts.answer.connector
    if connector is not None and lacking and lacking != (connector.name,):
        return f"change {' and '.join(lacking)} in {connector.name}"
    profile = case.facts.deployment.form is Form.PROFILE
    return "change `connector:`" if profile else "change `kv_connector`"


def _described(alternative: Alternative) -> str:
    facts = alternative.facts
    parts = [facts.needs or facts.what]
    if alternative.changes:
        parts.append(f"here with {' and '.join(alternative.changes)}")
    return f"`{facts.name}`: {'; '.join(parts)}"


def _upgraded(newer: Sequence[Upgrade], limits: Sequence[Limit]) -> Iterator[str]:
    releases: dict[tuple[str, str], list[str]] = {}
    for upgrade in newer:
        releases.setdefault((upgrade.package, upgrade.version), []).append(upgrade.connector)
    takes = "".join(f", and vLLM takes {limit.what}," for limit in limits)
    for (package, version), names in releases.items():
        verb = "supports" if len(names) == 1 else "support"
        yield f"{' and '.join(names)} {verb} HMA{takes} from {package} {version} on"
