"""Unknown fields of KVTransferConfig where no engine was asked.

What each release has and does is vLLM's own source; tests/engine/test_transfer_config.py asks it.
"""

from dataclasses import replace

import pytest
from installed import VERSIONS

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import DEFAULT, Setting
from hmactl.engine.answer import Answer, Traits
from hmactl.facts.facts import Facts
from hmactl.finding import Severity
from hmactl.rules.case import Case
from hmactl.rules.con import con007_unknown_field, con019_refused_field
from hmactl.verdict.verdict import Decision, Verdict

pytestmark = pytest.mark.usefixtures("rules_in_their_groups")

EVERY = ""


def _case(version: str, field: str, traits: Traits | None = None) -> Case:
    child = Connector("NixlConnector", DEFAULT, options={field: 1})
    connector = Connector("MultiConnector", DEFAULT, children=(child,))
    answer = Answer(error=None, versions=replace(VERSIONS, vllm=version), traits=traits)
    deployment = Deployment("p", "p", Setting("model", "m", DEFAULT), connector=connector)
    facts = Facts(deployment, answer, None, None, None)
    return Case(facts, Verdict(Decision.UNKNOWN, None, None, ""))


@pytest.mark.parametrize(
    ("version", "field", "rule"),
    [
        ("0.12.0", "kv_load_failure_policy", "CON007"),
        ("0.13.0", "kv_load_failure_policy", None),
        ("0.31.0", "kv_rank", None),
        ("0.32.0", "kv_rank", "CON019"),
        ("0.33.0+cu130", "kv_ip", "CON019"),
        ("0.15.1", "kv_ranks", "CON007"),
        ("0.16.0", "kv_ranks", "CON019"),
        ("0.16.0", "engine_id", None),
        # A patch release is answered by its neighbours.
        ("0.32.9", "kv_rank", "CON019"),
        ("0.31.9", "kv_rank", None),
        ("0.15.7", "kv_ranks", "CON007"),
        # Any supported release, of which some have it.
        (EVERY, "kv_rank", None),
        (EVERY, "kv_load_failure_policy", None),
        (EVERY, "kv_ranks", "CON007"),
        # Releases of which nothing is known.
        ("0.10.0", "kv_ranks", None),
        ("99.0", "kv_ranks", None),
        ("main", "kv_ranks", None),
    ],
)
def test_by_the_catalogue(version: str, field: str, rule: str | None) -> None:
    case = _case(version, field)
    found = [*con007_unknown_field.check(case), *con019_refused_field.check(case)]
    assert [finding.id for finding in found] == ([rule] if rule else [])
    assert all(f"`{field}`" in finding.message for finding in found)


def test_the_engine_knows_better() -> None:
    traits = Traits(transfer_fields=("kv_connector", "kv_rank"), ignores_unknown_fields=False)
    for fields in (traits, Traits()):
        case = _case("0.32.0", "kv_rank", fields)
        assert not [*con007_unknown_field.check(case), *con019_refused_field.check(case)]


@pytest.mark.parametrize(
    ("version", "field", "fix"),
    [
        ("0.32.0", "kv_rank", "vLLM 0.11.1 to 0.31.0 has it"),
        ("0.33.0", "kv_load_failur_policy", "did you mean `kv_load_failure_policy`?"),
        ("0.33.0", "cpu_bytes_to_use", "belongs into `kv_connector_extra_config`"),
    ],
)
def test_what_helps(version: str, field: str, fix: str) -> None:
    (found,) = con019_refused_field.check(_case(version, field))
    assert found.severity is Severity.ERROR
    assert fix in found.fix


def test_what_happens_is_said_of_each_release() -> None:
    (found,) = con007_unknown_field.check(_case(EVERY, "kv_ranks"))
    assert "vLLM 0.16.0 and newer refuse to start" in found.consequence
    (found,) = con007_unknown_field.check(_case("0.15.0", "kv_ranks"))
    assert found.consequence.startswith("it is left out without a word")
