"""Two servers with one directory for LMCache's disk."""

import pytest
from installed import VERSIONS

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import Origin, Setting
from hmactl.engine.answer import Answer, ConnectorAnswer, LMCacheSettings
from hmactl.facts.facts import Facts
from hmactl.rules.case import Case
from hmactl.rules.lmc import lmc036_same_disk
from hmactl.verdict.verdict import Decision, Verdict


def _case(name: str, disk: str | None, size: float = 5.0) -> Case:
    at = Origin(f"{name}.yaml", 1, 1)
    connector = "LMCacheConnectorV1"
    deployment = Deployment(
        at.source, name, Setting("model", "m", at), connector=Connector(connector, at)
    )
    loaded = ConnectorAnswer(
        name=connector,
        role="kv_both",
        module=None,
        class_=None,
        file=None,
        supports_hma=False,
        error=None,
    )
    values = {"local_disk": disk, "max_local_disk_size": size}
    settings = LMCacheSettings(values=values, unknown={})
    answer = Answer(error=None, versions=VERSIONS, connector=loaded, lmcache=settings)
    facts = Facts(deployment, answer, None, None, None)
    return Case(facts, Verdict(Decision.IRRELEVANT, None, None, ""))


@pytest.mark.parametrize("other", ["/d", "/d/", "/e,/d"])
def test_the_same_directory(other: str) -> None:
    first, second = _case("a", "/d"), _case("b", other)
    ((about, finding),) = lmc036_same_disk.check_together([first, second])
    assert about is second
    assert "/d is also that of a" in finding.message


@pytest.mark.parametrize(("disk", "size"), [("/e", 5.0), (None, 5.0), ("/d", 0.0), ("d", 5.0)])
def test_no_shared_directory(disk: str | None, size: float) -> None:
    cases = [_case("a", "/d"), _case("b", disk, size)]
    assert not list(lmc036_same_disk.check_together(cases))
