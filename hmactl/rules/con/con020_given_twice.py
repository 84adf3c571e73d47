"""`--kv-transfer-config` is given more than once, and only the last counts.

What: vLLM's parser takes the last one and merges nothing. `--kv-transfer-config.KEY VALUE` is one
more, behind all others: it does not add to the JSON, it replaces it.

Why: the connector of the others is never made. vLLM says "Found duplicate keys" in one line among
hundreds, 0.11.1 and the dotted form nothing.

Failing example: `vllm serve MODEL --kv-transfer-config '{"kv_connector": "NixlConnector", ...}'
--kv-transfer-config '{"kv_connector": "OffloadingConnector", ...}'`.

Passing example: one `--kv-transfer-config` with a MultiConnector that has both as children.

Source: the parsers of vLLM 0.11.1, 0.17.1, 0.22.1 and 0.32.0, which were asked.

Since: 0.1.0.
"""

import json
from collections.abc import Iterator
from typing import Any

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.setting import Json
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON020"
SEVERITY = Severity.ERROR

_FLAG = f"--{KV_TRANSFER_CONFIG}"


def check(case: Case) -> Iterator[Finding]:
    """One finding at the first of several that do not say the same."""
    deployment = case.facts.deployment
    given = [s for s in deployment.vllm if s.name == KV_TRANSFER_CONFIG]
    # What a command says over vLLM's own file is meant to.
    given = [s for s in given if s.origin.source == given[-1].origin.source]
    if len(given) < 2 or any(u.name == KV_TRANSFER_CONFIG for u in deployment.unknown):
        return
    values = [_read(setting.value) for setting in given]
    if all(value == values[-1] for value in values):
        return
    *lost, last = [_connector(value) for value in values]
    never = [name for name in dict.fromkeys(lost) if name is not None and name != last]
    consequence = "what only the others say has no effect"
    if last is None:
        consequence = "newer vLLM refuses the last, older ones start without any connector"
    elif never:
        consequence = f"{' and '.join(never)} is never made"
    several = last is not None and bool(never)
    yield Finding(
        ID,
        SEVERITY,
        f"`{_FLAG}` is given {len(given)} times, and vLLM takes only the last, with "
        f"{last or 'no `kv_connector`'}",
        consequence,
        f"one `{_FLAG}` with everything"
        + ("; several connectors are children of a MultiConnector" if several else ""),
        given[0].origin,
    )


def _read(value: Json) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _connector(value: Any) -> str | None:
    name = value.get("kv_connector") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None
