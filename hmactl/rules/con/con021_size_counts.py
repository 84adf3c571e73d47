"""`kv-offloading-size` changes the connector that it means.

What: where `--kv-transfer-config` names the very connector that the offloading options stand for,
vLLM writes its own values over it: the role becomes `kv_both`, the size that of the option, and up
to 0.22 the backend `lmcache` replaces the whole extra configuration.

Why: what is written at the connector has no effect, and nothing says so.

Failing example: `connector: {name: OffloadingConnector, extra_config: {cpu_bytes_to_use: 1000}}`
with `vllm: {kv-offloading-size: 10}`.

Passing example: either of the two alone.

Source: `_post_init_kv_transfer_config` in vLLM's config, 0.11.1 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.deployment import Connector
from hmactl.deployment.setting import Json
from hmactl.engine.answer import ConnectorAnswer
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON021"
SEVERITY = Severity.WARNING

_SIZE = "kv-offloading-size"
_NATIVE = frozenset({"OffloadingConnector", "SimpleCPUOffloadConnector"})
_SIZES = ("cpu_bytes_to_use", "kv_bytes_per_rank", "num_cpu_blocks")
_REPLACED = "LMCacheConnectorV1"
_GIB = 1 << 30


def check(case: Case) -> Iterator[Finding]:
    """One finding for everything of the connector that is written over."""
    written, effective = case.facts.connector, case.facts.answer.connector
    setting = case.facts.deployment.vllm_setting(_SIZE)
    if written is None or effective is None or setting is None or effective.name != written.name:
        return
    lost = [*_lost(written, effective, setting.value)]
    if not lost:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{_SIZE}: {setting.value}` writes over {' and '.join(lost)} of {written.name}",
        "what is written at the connector has no effect, and nothing says so",
        f"say it in one place: either `{_SIZE}`, or the connector with its own settings",
        setting.origin,
    )


def _lost(written: Connector, effective: ConnectorAnswer, size: Json) -> Iterator[str]:
    if written.role not in {"", effective.role}:
        yield f"the role `{written.role}`, which becomes `{effective.role}`,"
    for key, value in written.extra_config.items():
        same = isinstance(size, int | float) and value == size * _GIB
        own_size = effective.name in _NATIVE and key in _SIZES and not same
        if own_size or effective.name == _REPLACED:
            yield f"`{key}: {value}`"
