"""The catalogue's rules about HMA against the engine itself: the installed one, and those in the
interpreters that HMACTL_TEST_PYTHONS names (colon separated).
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_configs import MLA, TEXT
from tiny_models import write_config

from hmactl.catalogue.connector_versions import NOT_INSTALLED, VllmRelease, vllm_releases
from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.hma_decision import Circumstances, configured
from hmactl.catalogue.models import find_model
from hmactl.engine.answer import Answer, HmaState
from hmactl.engine.ask import Question, Session
from hmactl.engine.child import Limits
from hmactl.engine.find import find_engine
from hmactl.verdict.offline import Known, ModelKind, offline_verdict

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parent.parent.parent
PYTHONS: list[str | None] = [*filter(None, os.environ.get("HMACTL_TEST_PYTHONS", "").split(":"))]
CHUNKS = "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"
# pytest's own would have the engine loaded anew for each test.
UNSET = frozenset({CHUNKS, "PYTEST_CURRENT_TEST"})
EVENTS = ("kv-events-config", json.dumps({"enable_kv_cache_events": False}))


# An EAGLE head for the model with chunked local attention, and a tiny model with an indexer.
HEAD: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 1024,
    "num_hidden_layers": 1,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 32000,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "dtype": "bfloat16",
}
INDEXER: dict[str, object] = {
    **TEXT,
    **MLA,
    "architectures": ["DeepseekV32ForCausalLM"],
    "model_type": "deepseek_v32",
    "index_head_dim": 128,
    "index_n_heads": 4,
    "index_topk": 64,
}
HISPARSE = ("attention-config", json.dumps({"hisparse_config": {}}))


class _Memory:
    def __init__(self, ranks: int) -> None:
        self.bytes_per_rank = (40 << 30,) * ranks


@dataclass(frozen=True)
class Asked:
    """One engine with its release in the catalogue."""

    release: VllmRelease
    session: Session
    directory: Path

    def __call__(
        self, *flags: tuple[str, str], model: str = "sliding", **environment: str
    ) -> Answer:
        question = Question(
            model="a/model",
            model_directory=self.directory / model,
            flags=tuple((name, (f"--{name}={value}",)) for name, value in flags),
            extra=(),
            gpu=find_gpu("H100-80GB"),
            gpus=1,
            environment={k: v for k, v in os.environ.items() if k not in UNSET} | environment,
            lmcache_keys=(),
            arguments_only=False,
        )
        return self.session.ask(
            question,
            on_stage=lambda _stage: None,
            size_memory=lambda facts: _Memory(len(facts.weights)),
        )


@pytest.fixture(scope="module", params=PYTHONS or [None])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    engine = find_engine(request.param, timeout=120)
    if engine.vllm is None:
        pytest.skip(f"no vLLM is installed for {engine.python}")
    version = engine.vllm.version
    release = next((r for r in vllm_releases() if r.version == version), None)
    if release is None:
        pytest.skip(f"vLLM {version} is not in the catalogue")
    directory = tmp_path_factory.mktemp("model")
    models = json.loads((ROOT / "tools" / "versions_models.json").read_text("utf-8"))
    gpt_oss = find_model("openai/gpt-oss-20b")
    assert gpt_oss is not None
    for name, config in (("sliding", gpt_oss.config), ("chunks", models["llama-4-like"])):
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config))
    write_config("llama", directory / "tiny")
    for name, config in (("head", HEAD), ("indexer", INDEXER)):
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(json.dumps(config))
    with Session(engine, Limits()) as session:
        yield Asked(release, session, directory)


def _connector(name: str) -> tuple[str, str]:
    return "kv-transfer-config", json.dumps({"kv_connector": name, "kv_role": "kv_both"})


def _check(
    asked: Asked, answer: Answer, circumstances: Circumstances, *, seen: bool | None
) -> None:
    """The three states of HMA after configuration are what the catalogue says."""
    assert answer.hma is not None
    flags = {None: answer.hma.default, True: answer.hma.explicit_on, False: answer.hma.explicit_off}
    rules = asked.release.rules.hma
    for flag, state in flags.items():
        expected = configured(rules, circumstances, seen, flag)
        told = HmaState(on=state.on, error=state.error)
        assert told.on is expected.on, (flag, told, expected)
        assert (told.error is None) is (expected.error is None), (flag, told, expected)


@pytest.mark.parametrize("variable", [None, "0", "1"])
def test_chunked_local_attention(asked: Asked, variable: str | None) -> None:
    environment = {} if variable is None else {CHUNKS: variable}
    answer = asked(model="chunks", **environment)
    allows = None if variable is None else variable == "1"
    _check(asked, answer, Circumstances(chunks=True, allows_chunks=allows), seen=None)


def test_chunked_local_attention_with_eagle(asked: Asked) -> None:
    draft = {"method": "eagle", "model": str(asked.directory / "head"), "num_speculative_tokens": 2}
    answer = asked(("speculative-config", json.dumps(draft)), model="chunks")
    assert answer.error is None
    _check(asked, answer, Circumstances(chunks=True, eagle=True), seen=None)


@pytest.mark.parametrize("name", [None, "LMCacheConnectorV1", "OffloadingConnector"])
def test_hisparse(asked: Asked, name: str | None) -> None:
    if not asked.release.rules.hma.hisparse_needs_hma:
        pytest.skip(f"vLLM {asked.release.version} has no HiSparse")
    answer = asked(HISPARSE, *([] if name is None else [_connector(name)]), model="indexer")
    seen = None if answer.connector is None else answer.connector.supports_hma
    assert (seen is None) is (name is None)
    _check(asked, answer, Circumstances(hisparse=True), seen=seen)


def test_kv_events_that_are_not_enabled(asked: Asked) -> None:
    _check(asked, asked(EVENTS), Circumstances(kv_events=True), seen=None)


@pytest.mark.parametrize("name", ["ExampleConnector", "DecodeBenchConnector"])
def test_a_connector(asked: Asked, name: str) -> None:
    found = asked.release.connectors.get(name)
    if found is None:
        pytest.skip(f"vLLM {asked.release.version} has no {name}")
    answer = asked(_connector(name))
    assert answer.connector is not None
    assert answer.connector.supports_hma is found.supports_hma
    _check(asked, answer, Circumstances(), seen=found.supports_hma)


@pytest.mark.parametrize("backend", ["native", "lmcache", "native, simple"])
def test_the_offloading_options(asked: Asked, backend: str) -> None:
    options = asked.release.rules.offloading
    assert options is not None
    backend, _, simple = backend.partition(", ")
    kind = options.backends[backend]
    environment = {}
    name = kind.connector
    if simple:
        if kind.variable is None or kind.instead is None:
            pytest.skip("no variable asks for another connector")
        environment[kind.variable] = "1"
        name = kind.instead
    answer = asked(("kv-offloading-size", "4"), ("kv-offloading-backend", backend), **environment)
    assert answer.connector is not None
    assert answer.connector.name == name
    seen = None if options.late else answer.connector.supports_hma
    if answer.connector.error is None:
        _check(asked, answer, Circumstances(), seen=seen)
        known = Known(
            asked.release.version,
            answer.versions.lmcache or NOT_INSTALLED,
            None,
            ModelKind.UNIFIABLE,
            offloading=backend,
            environment=environment,
        )
        verdict = offline_verdict(known)
        supports = answer.connector.supports_hma
        assert verdict.decision in ({"keep"} if supports else {"disable"})


def test_the_size_alone(asked: Asked) -> None:
    options = asked.release.rules.offloading
    assert options is not None
    answer = asked(("kv-offloading-size", "4"))
    if options.backend_needed:
        assert answer.connector is None
    else:
        assert answer.connector is not None
        assert answer.connector.name == options.backends[options.default or ""].connector


FIRST, SECOND = _connector("LMCacheConnectorV1"), _connector("DecodeBenchConnector")


@pytest.mark.parametrize(
    ("flags", "last"),
    [
        ((FIRST, SECOND), "DecodeBenchConnector"),
        ((SECOND, FIRST), "LMCacheConnectorV1"),
        # The dotted form is JSON of its own, behind the other.
        ((("kv-transfer-config.kv_role", "kv_producer"), FIRST), None),
    ],
)
def test_only_the_last_transfer_config_counts(
    asked: Asked, flags: tuple[tuple[str, str], ...], last: str | None
) -> None:
    answer = asked(*flags, model="tiny")
    if last is None:
        refused = answer.error is not None and "Connector name is not set" in answer.error.message
        assert refused or (answer.error is None and answer.connector is None)
    else:
        assert answer.connector is not None
        assert answer.connector.name == last


def test_a_size_writes_over_the_connector_that_it_means(asked: Asked) -> None:
    config = {"kv_connector": "OffloadingConnector", "kv_role": "kv_producer"}
    flags = ("kv-transfer-config", json.dumps(config)), ("kv-offloading-backend", "native")
    answer = asked(*flags, ("kv-offloading-size", "4"), model="tiny")
    assert answer.connector is not None
    assert (answer.connector.name, answer.connector.role) == ("OffloadingConnector", "kv_both")


def test_a_backend_without_a_size(asked: Asked) -> None:
    options = asked.release.rules.offloading
    assert options is not None
    answer = asked(("kv-offloading-backend", "native"), model="tiny")
    assert answer.connector is None
    assert (answer.error is not None) is options.backend_needed


OWN = """
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1
from vllm.distributed.kv_transfer.kv_connector.v1.multi_connector import MultiConnector

class OwnMulti(MultiConnector): ...

class Old(KVConnectorBase_V1):
    def __init__(self, vllm_config, role): ...
"""


def _own(asked: Asked, name: str, *children: str) -> Answer:
    (asked.directory / "own_connectors.py").write_text(OWN)
    config: dict[str, object] = {
        "kv_connector": name,
        "kv_role": "kv_both",
        "kv_connector_module_path": "own_connectors",
    }
    inner = [{"kv_connector": child, "kv_role": "kv_both"} for child in children]
    if inner:
        config["kv_connector_extra_config"] = {"connectors": inner}
    flag = "kv-transfer-config", json.dumps(config)
    return asked(flag, PYTHONPATH=str(asked.directory))


def test_a_descendant_of_multi_connector_is_as_good_as_its_children(asked: Asked) -> None:
    answer = _own(asked, "OwnMulti", "ExampleConnector", "DecodeBenchConnector")
    assert answer.connector is not None
    assert [c.name for c in answer.connector.children] == [
        "ExampleConnector",
        "DecodeBenchConnector",
    ]
    assert answer.connector.supports_hma is False


def test_a_constructor_of_two_arguments(asked: Asked) -> None:
    answer = _own(asked, "Old")
    refused = not asked.release.rules.old_constructors
    if answer.connector is None:
        # Since 0.22 the class is loaded while vLLM is configured.
        assert refused
        assert answer.error is not None
        assert "must accept kv_cache_config" in answer.error.message
        return
    assert answer.connector.old_constructor is refused
    assert (answer.connector.error is not None) is refused
