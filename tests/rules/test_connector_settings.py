"""What the rules say of `--kv-transfer-config` and of vLLM's options that change it.

tests/engine asks real engines what becomes of them.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from installed import VERSIONS

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import DEFAULT, Area, Origin, Setting, Unknown
from hmactl.engine.answer import Answer, ConnectorAnswer, EngineError
from hmactl.facts.facts import Facts
from hmactl.rules.case import Case, Rule
from hmactl.rules.con import (
    con017_offloading_size,
    con018_old_constructor,
    con020_given_twice,
    con021_size_counts,
    con022_backend_alone,
)
from hmactl.rules.eng import eng001_refused
from hmactl.rules.lmc import lmc035_hash_seed_text
from hmactl.rules.lms import lms026_offloading_backend
from hmactl.verdict.verdict import Decision, Verdict

pytestmark = pytest.mark.usefixtures("rules_in_their_groups")

TRANSFER = "kv-transfer-config"
SIZE, BACKEND = "kv-offloading-size", "kv-offloading-backend"
OFFLOADING, V1, MP = "OffloadingConnector", "LMCacheConnectorV1", "LMCacheMPConnector"


def _case(
    *settings: tuple[str, Any] | Setting,
    connector: Connector | None = None,
    effective: str | None = None,
    vllm: str = "0.32.0",
    error: str | None = None,
    **deployment: Any,
) -> Case:
    loaded = effective and ConnectorAnswer(
        name=effective,
        role="kv_both",
        module="m",
        class_=effective,
        file=None,
        supports_hma=True,
        error=None,
    )
    answer = Answer(
        error=None if error is None else EngineError(stage="config", type="E", message=error),
        versions=replace(VERSIONS, vllm=vllm),
        connector=loaded or None,
    )
    given = tuple(
        one if isinstance(one, Setting) else Setting(*one, Origin("start.sh", line))
        for line, one in enumerate(settings, 1)
    )
    written = Deployment(
        "p",
        "p",
        Setting("model", "m", DEFAULT),
        connector=connector,
        vllm=given,
        **deployment,
    )
    facts = Facts(written, answer, None, None, None)
    return Case(facts, Verdict(Decision.UNKNOWN, None, None, ""))


def _transfer(name: str | None, **more: Any) -> tuple[str, Any]:
    config = {"kv_role": "kv_both", **more}
    return TRANSFER, config if name is None else {"kv_connector": name, **config}


def _text(name: str, **more: Any) -> tuple[str, Any]:
    return TRANSFER, json.dumps(_transfer(name, **more)[1], indent=1)


def _offloading(role: str = "kv_both", **extra: Any) -> Connector:
    return Connector(OFFLOADING, DEFAULT, role=role, extra_config=extra)


NAMELESS = "Connector name is not set in KVTransferConfig"
HIDDEN = (Unknown(Area.VLLM, TRANSFER, "$KV", DEFAULT),)
ELSEWHERE = (
    Setting(*_transfer("NixlConnector"), Origin("vllm.yaml", 3)),
    Setting(*_transfer(OFFLOADING), Origin("command line")),
)
# A rule, a part of what it says (None: nothing), and the case.
CASES: dict[str, tuple[Rule, str | None, Case]] = {
    "twice": (
        con020_given_twice,
        "takes only the last, with OffloadingConnector",
        _case(_transfer("NixlConnector"), _transfer(OFFLOADING)),
    ),
    "twice-the-same": (
        con020_given_twice,
        None,
        _case(_transfer(OFFLOADING), _text(OFFLOADING)),
    ),
    "once": (con020_given_twice, None, _case(_transfer(OFFLOADING))),
    "never": (con020_given_twice, None, _case()),
    "dotted-beside-json": (
        con020_given_twice,
        "with no `kv_connector`",
        _case(_text(OFFLOADING), _transfer(None)),
    ),
    "over-the-file": (con020_given_twice, None, _case(*ELSEWHERE)),
    "one-is-hidden": (
        con020_given_twice,
        None,
        _case(_transfer("NixlConnector"), _transfer(OFFLOADING), unknown=HIDDEN),
    ),
    "nameless-after-json": (
        eng001_refused,
        None,
        _case(_text(OFFLOADING), _transfer(None), error=NAMELESS),
    ),
    "nameless": (eng001_refused, NAMELESS, _case(_transfer(None), error=NAMELESS)),
    "twice-and-refused-for-another-reason": (
        eng001_refused,
        "too long",
        _case(_transfer("NixlConnector"), _transfer(OFFLOADING), error="too long"),
    ),
    "role-over": (
        con021_size_counts,
        "the role `kv_producer`, which becomes `kv_both`",
        _case((SIZE, 4), connector=_offloading("kv_producer"), effective=OFFLOADING),
    ),
    "size-over": (
        con021_size_counts,
        "`cpu_bytes_to_use: 1000`",
        _case((SIZE, 4), connector=_offloading(cpu_bytes_to_use=1000), effective=OFFLOADING),
    ),
    "size-agrees": (
        con021_size_counts,
        None,
        _case((SIZE, 4), connector=_offloading(cpu_bytes_to_use=4 << 30), effective=OFFLOADING),
    ),
    "other-keys-stay": (
        con021_size_counts,
        None,
        _case((SIZE, 4), connector=_offloading(block_size=48), effective=OFFLOADING),
    ),
    "no-size": (
        con021_size_counts,
        None,
        _case(connector=_offloading(cpu_bytes_to_use=1000), effective=OFFLOADING),
    ),
    "extra-config-over": (
        con021_size_counts,
        "`lmcache.chunk_size: 64`",
        _case(
            (SIZE, 4),
            (BACKEND, "lmcache"),
            connector=Connector(V1, DEFAULT, extra_config={"lmcache.chunk_size": 64}),
            effective=V1,
            vllm="0.22.1",
        ),
    ),
    "backend-alone": (con022_backend_alone, "does nothing without", _case((BACKEND, "native"))),
    "backend-with-size": (
        con022_backend_alone,
        None,
        _case((BACKEND, "native"), (SIZE, 4)),
    ),
    "backend-alone-is-refused": (
        con022_backend_alone,
        None,
        _case((BACKEND, "native"), vllm="0.13.0"),
    ),
    "backend-of-an-unknown-release": (
        con022_backend_alone,
        None,
        _case((BACKEND, "native"), vllm=""),
    ),
    "size-is-hidden": (
        con022_backend_alone,
        None,
        _case((BACKEND, "native"), unknown=(Unknown(Area.VLLM, SIZE, "$SIZE", DEFAULT),)),
    ),
    "lmcache-backend": (
        lms026_offloading_backend,
        "server at localhost:5555 for `kv-offloading-backend: lmcache`, and ignores "
        "`kv-offloading-size: 40`",
        _case((SIZE, 40), (BACKEND, "lmcache"), effective=MP),
    ),
    "lmcache-backend-in-process": (
        lms026_offloading_backend,
        None,
        _case((SIZE, 40), (BACKEND, "lmcache"), effective=V1, vllm="0.22.1"),
    ),
    "lmcache-backend-beside-its-connector": (
        lms026_offloading_backend,
        "server at localhost:6555",
        _case(
            (SIZE, 40),
            (BACKEND, "lmcache"),
            connector=Connector(MP, DEFAULT, extra_config={"lmcache.mp.port": 6555}),
            effective=MP,
        ),
    ),
    "its-connector-alone": (
        lms026_offloading_backend,
        None,
        _case(connector=Connector(MP, DEFAULT), effective=MP),
    ),
    "lmcache-backend-beside-another": (
        lms026_offloading_backend,
        None,
        _case(
            (SIZE, 40),
            (BACKEND, "lmcache"),
            connector=Connector("NixlConnector", DEFAULT),
            effective=MP,
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_case(name: str) -> None:
    rule, said, case = CASES[name]
    found = list(rule.check(case))
    assert len(found) == (said is not None), found
    assert all((said or "") in finding.message for finding in found)


def test_lmcaches_backend_instead_of_another_connector() -> None:
    """One finding has both: whose place is taken, and what the option means."""
    _, _, case = CASES["lmcache-backend-beside-another"]
    (finding,) = con017_offloading_size.check(case)
    assert "LMCacheMPConnector instead of NixlConnector" in finding.message
    assert "since vLLM 0.23.0 " in finding.consequence
    assert "localhost:5555, and the size is ignored" in finding.consequence


OLD = (
    "Connector {} uses deprecated 2-argument constructor signature. External v1 KV connectors must "
    "accept kv_cache_config as the third constructor argument and pass it to super().__init__()."
)
LMCACHES = "lmcache.integration.vllm."


@pytest.mark.parametrize(
    ("name", "module", "fix"),
    [
        ("Own", "own", "give its constructor `kv_cache_config` as third argument"),
        (
            "LMCacheConnectorV1Dynamic",
            f"{LMCACHES}lmcache_connector_v1",
            "LMCache 0.3.14 or newer",
        ),
        (
            "LMCacheConnectorV1Dynamic",
            f"{LMCACHES}lmcache_connector_v1_085",
            "no LMCache up to 0.5.6 has that class otherwise",
        ),
    ],
)
def test_an_old_constructor_is_told_once(name: str, module: str, fix: str) -> None:
    """Since 0.22 vLLM refuses it while it is configured, and says nothing of what would help."""
    connector = Connector(name, DEFAULT, module_path=module)
    case = _case(connector=connector, error=OLD.format(name))
    (finding,) = con018_old_constructor.check(case)
    assert fix in finding.fix
    assert name in finding.message
    assert not list(eng001_refused.check(case))


def test_another_refusal_is_vllms_to_tell() -> None:
    case = _case(connector=Connector("Own", DEFAULT, module_path="own"), error="something else")
    assert not list(con018_old_constructor.check(case))
    assert [f.id for f in eng001_refused.check(case)] == ["ENG001"]


@pytest.mark.parametrize(
    "seed",
    [
        "0",
        "random",
        "4294967295",
        "",
        "'0'",
        "4294967296",
        "-1",
        "0x10",
        "1.0",
        " 1",
        "+1",
        "-0",
        "1 ",
        "٣",
    ],
)
def test_python_itself_refuses_the_same_seeds(seed: str) -> None:
    case = _case(env=(Setting("PYTHONHASHSEED", seed, DEFAULT),))
    done = subprocess.run(
        [sys.executable, "-S", "-c", ""],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=False,
    )
    assert bool([*lmc035_hash_seed_text.check(case)]) is (done.returncode != 0)
