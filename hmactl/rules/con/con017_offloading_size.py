"""`kv-offloading-size` replaces the configured connector.

What: vLLM turns `--kv-offloading-size` into a connector, in the place of the one that
`--kv-transfer-config` names. Other settings of that one stay.

Why: the configured connector is never made, and nothing says so.

Failing example: `connector: NixlConnector` with `vllm: {kv-offloading-size: 10}`.

Passing example: a MultiConnector with the children NixlConnector and OffloadingConnector.

Source: `_post_init_kv_transfer_config` in vLLM's config, 0.11.1 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.facts.lmcache import SERVED
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lms.server import OFFLOADING_BACKEND

ID = "CON017"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where the effective connector is another than the one that was written."""
    written, effective = case.facts.connector, case.facts.answer.connector
    setting = case.facts.deployment.vllm_setting("kv-offloading-size")
    if written is None or effective is None or setting is None:
        return
    if effective.name == written.name:
        return
    served = effective.name == SERVED
    yield Finding(
        ID,
        SEVERITY,
        f"`kv-offloading-size` makes vLLM use {effective.name} instead of {written.name}",
        f"{written.name} is never made, and nothing says so"
        + (f"; {OFFLOADING_BACKEND}" if served else ""),
        "remove `kv-offloading-size`, or list both under a MultiConnector",
        setting.origin,
    )
