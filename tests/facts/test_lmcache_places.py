"""Which place of a setting counts, and what it replaced."""

from installed import VERSIONS

from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.setting import ENVIRONMENT, Origin, Setting
from hmactl.engine.answer import Answer, LMCacheSettings
from hmactl.facts.facts import Facts
from hmactl.facts.lmcache_places import Effective, effective

DEFAULTS = {"chunk_size": 256, "local_cpu": True, "runtime_plugin_locations": None}


def _at(line: int) -> Origin:
    return Origin("p.yaml", line, 1)


def _facts(
    values: dict[str, object],
    *,
    file: dict[str, object] | None = None,
    lmcache: dict[str, object] | None = None,
    env: dict[str, object] | None = None,
    extra: dict[str, object] | None = None,
    inherited: dict[str, str] | None = None,
    unreadable: tuple[str, ...] = (),
) -> Facts:
    def settings(given: dict[str, object] | None, line: int) -> tuple[Setting, ...]:
        return tuple(Setting(k, v, _at(line)) for k, v in (given or {}).items())  # type: ignore[arg-type]

    deployment = Deployment(
        source="p.yaml",
        name="p",
        model=Setting("model", "m", _at(1)),
        lmcache=settings(lmcache, 3),
        env=settings(env, 4),
        connector=Connector("LMCacheConnectorV1", _at(5), extra_config=extra or {}),  # type: ignore[arg-type]
    )
    answer = Answer(
        error=None,
        versions=VERSIONS,
        lmcache=LMCacheSettings(
            values=DEFAULTS | values,
            unknown={},
            defaults=DEFAULTS,
            old_names={"plugin_locations": "runtime_plugin_locations"},
            unreadable=unreadable,
        ),
    )
    config = LMCacheFile("l.yaml", _at(4), "", settings(file, 2)) if file is not None else None
    outer = tuple(Setting(k, v, ENVIRONMENT) for k, v in (inherited or {}).items())
    return Facts(deployment, answer, None, None, None, config, outer)


def _one(facts: Facts) -> Effective:
    (one,) = effective(facts)
    return one


def _lines(one: Effective) -> list[int | None]:
    written = [] if one.written is None else [one.written, *one.overrode]
    return [place.setting.origin.line for place in written]


def test_nothing_written() -> None:
    assert effective(_facts({})) == ()


def test_the_file_then_the_environment_then_the_connector() -> None:
    one = _one(
        _facts(
            {"chunk_size": 64},
            file={"chunk_size": 16},
            env={"LMCACHE_CHUNK_SIZE": "32"},
            extra={"lmcache.chunk_size": 64},
        )
    )
    assert (one.value, one.default, _lines(one)) == (64, 256, [5, 4, 2])


def test_a_variable_under_env_wins_over_the_same_key_and_over_the_shell() -> None:
    one = _one(
        _facts(
            {"chunk_size": 32},
            inherited={"LMCACHE_CHUNK_SIZE": "8"},
            lmcache={"chunk_size": 16},
            env={"LMCACHE_CHUNK_SIZE": "32"},
        )
    )
    assert _lines(one) == [4]


def test_the_shell_counts_where_the_profile_is_silent() -> None:
    one = _one(_facts({"chunk_size": 8}, inherited={"LMCACHE_CHUNK_SIZE": "8"}))
    assert one.written is not None
    assert one.written.setting.origin is ENVIRONMENT


def test_null_is_no_variable() -> None:
    one = _one(
        _facts(
            {"chunk_size": 8}, lmcache={"chunk_size": None}, inherited={"LMCACHE_CHUNK_SIZE": "8"}
        )
    )
    assert one.written is not None
    assert one.written.setting.origin is ENVIRONMENT


def test_a_value_that_cannot_be_read_replaces_nothing() -> None:
    one = _one(
        _facts(
            {"chunk_size": 16},
            file={"chunk_size": 16},
            env={"LMCACHE_CHUNK_SIZE": "5k"},
            unreadable=("LMCACHE_CHUNK_SIZE",),
        )
    )
    assert _lines(one) == [2]


def test_the_only_place_is_shown_even_if_it_cannot_be_read() -> None:
    one = _one(
        _facts(
            {"chunk_size": None},
            env={"LMCACHE_CHUNK_SIZE": "5k"},
            unreadable=("LMCACHE_CHUNK_SIZE",),
        )
    )
    assert (one.value, _lines(one)) == (None, [4])


def test_an_older_name_is_a_place_of_the_new_one() -> None:
    one = _one(_facts({"runtime_plugin_locations": ["/p"]}, file={"plugin_locations": ["/p"]}))
    assert (one.key, _lines(one)) == ("runtime_plugin_locations", [2])


def test_a_value_that_another_setting_changed() -> None:
    one = _one(_facts({"local_cpu": False}))
    assert one.written is None
