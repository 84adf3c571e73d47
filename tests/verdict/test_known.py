"""From a deployment's settings to what the verdict without an engine asks."""

from typing import Any

import pytest

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import DEFAULT, Area, Setting, Unknown
from hmactl.verdict.known import CHUNKS_VARIABLE, known
from hmactl.verdict.offline import Known, ModelKind, offline_verdict

HIDDEN = Unknown(Area.VLLM, None, "$ARGS", DEFAULT)


def _known(
    options: dict[str, Any] | None = None,
    *,
    env: dict[str, str] | None = None,
    connector: Connector | None = None,
    unknown: tuple[Unknown, ...] = (),
) -> Known | None:
    deployment = Deployment(
        "x",
        "x",
        Setting("model", "m", DEFAULT),
        vllm=tuple(Setting(n, v, DEFAULT) for n, v in (options or {}).items()),
        connector=connector,
        env=tuple(Setting(n, v, DEFAULT) for n, v in (env or {}).items()),
        unknown=unknown,
    )
    return known(
        deployment, vllm="0.32.0", lmcache="0.5.6", model=ModelKind.UNIFIABLE, chunks=False
    )


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ({}, "eagle", False),
        ({"speculative-config": {"method": "eagle3"}}, "eagle", True),
        ({"speculative-config": '{"method": "ngram"}'}, "eagle", False),
        ({"speculative-config": {"model": "a/draft"}}, "eagle", None),
        ({"speculative-config": "not json"}, "eagle", None),
        ({"kv-events-config": "{}"}, "kv_events", True),
        ({}, "kv_events", False),
        ({"attention-config": {"hisparse_config": {"x": 1}}}, "hisparse", True),
        ({"attention-config": {"backend": "FLASH_ATTN"}}, "hisparse", False),
        ({"kv-offloading-backend": "lmcache"}, "offloading", None),
        ({"kv-offloading-size": 4}, "offloading", ""),
        ({"kv-offloading-size": 4, "kv-offloading-backend": "lmcache"}, "offloading", "lmcache"),
    ],
)
def test_options(options: dict[str, Any], field: str, value: object) -> None:
    found = _known(options)
    assert found is not None
    assert getattr(found, field) == value


@pytest.mark.parametrize(("value", "allows"), [("1", True), ("0", False), (None, None)])
def test_the_variable(value: str | None, allows: bool | None) -> None:
    found = _known(env={} if value is None else {CHUNKS_VARIABLE: value})
    assert found is not None
    assert found.allows_chunks is allows


def test_what_may_be_hidden_is_unknown() -> None:
    assert _known(unknown=(HIDDEN,)) is None
    connector = Connector("LMCacheConnectorV1", DEFAULT)
    found = _known(connector=connector, unknown=(HIDDEN,))
    assert found is not None
    assert (found.kv_events, found.eagle, found.hisparse) == (None, None, None)


def test_an_offloading_option_that_cannot_be_read_is_unknown() -> None:
    size = Unknown(Area.VLLM, "kv-offloading-size", "$SIZE", DEFAULT)
    assert _known(connector=Connector("NixlConnector", DEFAULT), unknown=(size,)) is None


def test_a_connector_that_cannot_be_read_is_unknown() -> None:
    assert _known({"kv-transfer-config": "{"}) is None


def test_children_reach_the_verdict() -> None:
    children = tuple(Connector(n, DEFAULT) for n in ("NixlConnector", "LMCacheConnectorV1"))
    multi = Connector("MultiConnector", DEFAULT, children=children)
    found = _known(connector=multi)
    assert found is not None
    assert offline_verdict(found).decision == "disable"
    alone = _known(connector=Connector("MultiConnector", DEFAULT, children=children[:1]))
    assert alone is not None
    assert offline_verdict(alone).decision == "keep"
