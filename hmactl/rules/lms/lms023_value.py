"""LMCacheMPConnector refuses a value.

What: `lmcache.mp.save_decode_cache` has to be a boolean and no text, `lmcache.mp.port` a number
from 1 to 65535, `lmcache.mp.autostart` a boolean, for a local server and with one server only.
`lmcache.mp.lazy_offload` needs vLLM's prefix caching, and LMCACHE_MP_TRANSFER_MODE is `auto`,
`engine_driven` or `lmcache_driven`.

Why: vLLM ends when it makes the connector.

Failing example: `extra_config: {lmcache.mp.save_decode_cache: "true"}`.

Passing example: `extra_config: {lmcache.mp.save_decode_cache: true}`.

Source: `LMCacheMPConnector.__init__` and mp_server_launcher.py in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Json
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS023"
SEVERITY = Severity.ERROR

_LARGEST_PORT = 65535
_MODES = ("auto", "engine_driven", "lmcache_driven")
_WORDS = frozenset({"1", "true", "yes", "y", "on", "0", "false", "no", "n", "off", ""})
_MODE = "LMCACHE_MP_TRANSFER_MODE"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each such value."""
    connectors = served_connectors(case)
    config = case.facts.answer.config
    for connector in connectors:
        for name, needs in _wrong(connector):
            yield _finding(connector, name, needs)
        lazy = connector.extra_config.get("lmcache.mp.lazy_offload")
        if lazy and config is not None and not config.enable_prefix_caching:
            yield _finding(connector, "lmcache.mp.lazy_offload", "prefix caching")
    for setting in case.facts.deployment.env if connectors else ():
        if setting.name == _MODE and str(setting.value).lower() not in _MODES:
            yield Finding(
                ID,
                SEVERITY,
                f"LMCacheMPConnector refuses `{_MODE}: {setting.value}`",
                "vLLM ends when it registers its KV cache",
                f"one of {', '.join(_MODES)}",
                setting.origin,
            )


def _wrong(connector: Connector) -> Iterator[tuple[str, str]]:
    extra = connector.extra_config
    decode = extra.get("lmcache.mp.save_decode_cache", False)
    if not isinstance(decode, bool):
        yield "lmcache.mp.save_decode_cache", "a boolean"
    if not extra.get("lmcache.mp.server_urls") and not _is_port(extra.get("lmcache.mp.port", 5555)):
        yield "lmcache.mp.port", "a number from 1 to 65535"
    auto = extra.get("lmcache.mp.autostart", False)
    text = isinstance(auto, str) and auto.strip().lower() in _WORDS
    if not isinstance(auto, bool | None) and not text:
        yield "lmcache.mp.autostart", "a boolean"


def _is_port(value: Json) -> bool:
    try:
        return not isinstance(value, bool) and 1 <= int(str(value)) <= _LARGEST_PORT
    except ValueError:
        return False


def _finding(connector: Connector, name: str, needs: str) -> Finding:
    return Finding(
        ID,
        SEVERITY,
        f"LMCacheMPConnector refuses `{name}: {connector.extra_config.get(name)}`: it needs "
        f"{needs}",
        "vLLM ends when it makes the connector",
        f"`{name}` with {needs}" if needs != "prefix caching" else "`enable-prefix-caching: true`",
        connector.origin,
    )
