"""`hmactl verify --probe` on real servers: real external hits, and servers that only look well."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from probing import (
    MIB,
    LMCacheServer,
    Probed,
    counts,
    lmcache_server,
    offloading_plugin,
    probed,
    tiny_model,
)

from hmactl.engine.find import Engine

pytestmark = pytest.mark.serve

# What takes CI more time than it is worth there; run by hand before a release.
_ALL = bool(os.environ.get("HMACTL_TEST_ALL_SERVERS"))
_more = pytest.mark.skipif(not _ALL, reason="only with HMACTL_TEST_ALL_SERVERS=1")


@pytest.fixture(scope="module")
def lmcache(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LMCacheServer]:
    """One LMCache server for the models of all tests, which it tells apart."""
    script = engine.python.with_name("lmcache")
    if engine.lmcache is None or not script.exists():
        pytest.skip(f"no LMCache with a server is installed for {engine.python}")
    with lmcache_server(script, tmp_path_factory.mktemp("lmcache")) as server:
        yield server


@pytest.mark.parametrize(
    ("name", "extra", "at_once"),
    [
        ("llama", "", 3 * 13 * 256),
        ("gemma3", ", lmcache.mp.mp_transfer_mode: lmcache_driven", 3 * 16 * 256),
    ],
    ids=["one-group", "hybrid-with-hma"],
)
def test_every_chunk_comes_back_from_an_lmcache_server(
    tmp_path: Path, lmcache: LMCacheServer, name: str, extra: str, at_once: int
) -> None:
    model = tiny_model(name, tmp_path)
    with probed(tmp_path, model, lmcache.profile(extra)) as one:
        found = one.verify("--probe", *one.log_options())
        assert found.status == 0, found
        assert found.said["hma"]["found"] == "on"
        assert found.said["external-hits"]["planned"] == "4,096 tokens, 16 chunks"
        assert found.tokens("external-hits") == 4096
        assert found.tokens("external-hits-at-once") == at_once
        assert found.said["stored"]["found"].endswith(" objects")
        assert set(found.states().values()) == {"same"}


def test_a_degraded_lmcache_answers_health_and_fails_the_probe(
    tmp_path: Path, engine: Engine
) -> None:
    if engine.lmcache is None:
        pytest.skip(f"no LMCache is installed for {engine.python}")
    model = tiny_model("llama", tmp_path)
    more = (
        "connector: LMCacheConnectorV1\n"
        # Each request waits so long for a lookup that never answers.
        "lmcache: {chunk_size: 256, local_cpu: true, max_local_cpu_size: 0.5, "
        "lookup_timeout_ms: 100}\n"
    )
    with probed(tmp_path, model, more) as one:
        found = one.verify("--probe", *one.log_options())
        assert found.status == 1, found
        wrong = {id_ for id_, state in found.states().items() if state == "differs"}
        assert wrong == {"lmcache-started", "external-hits"}
        assert found.tokens("external-hits") == 0
        assert "caches nothing" in found.said["external-hits"]["meaning"]
        assert "degraded mode" in found.said["lmcache-started"]["found"]
        # Without its log only the probe tells.
        assert one.verify().status == 0


def test_a_server_that_dies_of_its_first_prompt(tmp_path: Path, engine: Engine) -> None:
    model = tiny_model("jamba", tmp_path)
    with probed(tmp_path, model, "") as one:
        assert one.verify().status == 0
        assert one.verify(plan=False).status == 0
        found = one.verify("--probe")
        assert found.status == 1, found
        assert found.said["answers"]["state"] == "differs"
        assert one.verify().status == 2


# The same KV cache of 32 MiB holds more tokens of a hybrid model where HMA is on.
_TOKENS = {"keep": 26_181, "disable": 10_774}


@pytest.mark.parametrize(
    ("connector", "hma"),
    [
        ("SimpleCPUOffloadConnector", "disable"),
        pytest.param("SimpleCPUOffloadConnector", "keep", marks=_more),
        pytest.param("OffloadingConnector", "keep", marks=_more),
        pytest.param("OffloadingConnector", "disable", marks=_more),
    ],
)
def test_what_the_gpu_has_no_room_for_comes_from_the_host(
    tmp_path: Path, engine: Engine, connector: str, hma: str
) -> None:
    model = tiny_model("gemma3", tmp_path)
    more = (
        f"hma: {hma}\n"
        f"connector: {{name: {connector}, extra_config: {{cpu_bytes_to_use: {256 * MIB}}}}}\n"
    )
    plugin = offloading_plugin(tmp_path / "plugin")
    with probed(tmp_path, model, more, kv_cache=32 * MIB, **plugin) as one:
        plain = one.verify(*one.log_options())
        assert plain.status == 0, plain
        assert plain.tokens("tokens") == _TOKENS[hma]
        assert _long_prefix_again(one) == (
            {"local": 7936, "external": 0} if hma == "keep" else {"local": 2688, "external": 5248}
        )
        found = one.verify("--probe")
        assert found.status == 0, found
        assert found.said["same-answer"]["state"] == "same"


def _long_prefix_again(one: Probed) -> dict[str, int]:
    """Where the tokens of a long prefix come from after another long prompt."""
    prefix = "hi" * 8000
    for prompt in (f"{prefix}\nhow are you?", "hi" * 200 + "\nTell me a story."):
        one.server.complete("tiny", prompt)
    one.server.complete("tiny", f"1{prefix}\nhow are you?")
    before = counts(one.server)
    one.server.complete("tiny", f"{prefix}\nTell me a story.")
    return {name: now - before[name] for name, now in counts(one.server).items()}
