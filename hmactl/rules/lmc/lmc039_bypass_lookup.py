"""The scheduler's own look-up needs a model with MLA.

What: with `enable_scheduler_bypass_lookup` the scheduler looks into the remote store itself, which
only works where all workers have the same keys and values: with MLA.

Why: LMCache fails to initialise in the scheduler, and the server goes on without it.

Failing example: Llama with `lmcache: {enable_scheduler_bypass_lookup: true}`.

Passing example: DeepSeek-V3 with the same.

Source: `VllmServiceFactory.get_or_create_lmcache_engine` in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, origin_of

ID = "LMC039"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where it is on and the layers are known and none has MLA."""
    settings, layers = in_process_settings(case), case.facts.answer.layers
    if settings is None or not settings.values.get("enable_scheduler_bypass_lookup"):
        return
    extra = settings.values.get("extra_config") or {}
    if not layers or any("MLA" in kind.spec for stage in layers for kind in stage):
        return
    if isinstance(extra, dict) and extra.get("remote_enable_mla_worker_id_as0"):
        return
    yield Finding(
        ID,
        SEVERITY,
        "`enable_scheduler_bypass_lookup` needs a model with MLA, and this one has none",
        "LMCache fails to initialise in the scheduler and the server goes on without it",
        "`enable_scheduler_bypass_lookup: false`",
        origin_of(case, "enable_scheduler_bypass_lookup"),
    )
