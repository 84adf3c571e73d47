"""vLLM's processes hash the same tokens differently.

What: with its default `pre_caching_hash_algorithm: builtin` LMCache names what it stores by
Python's own hash, which starts from another random number in every process unless `PYTHONHASHSEED`
is set. Where the scheduler and the workers are processes of their own (several GPUs, or vLLM on a
CPU), the scheduler asks for names under which the workers never store. Between servers that share a
remote store it is the same.

Why: everything is stored and nothing is ever found: no external hits, and every request pays for
the store. LMCache only logs "Using builtin hash without PYTHONHASHSEED set".

Failing example: `connector: LMCacheConnectorV1` with `tensor-parallel-size: 2` and nothing else.

Passing example: the same with `env: {PYTHONHASHSEED: "0"}`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.setting import Area
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings, separate_processes

ID = "LMC009"
SEVERITY = Severity.WARNING

_SHARED = ("remote_url", "remote_storage_plugins", "enable_pd", "enable_p2p")
# With these, the scheduler does not look up by hashes of its own.
_OTHER_LOOKUP = ("enable_blending", "external_lookup_client", "enable_scheduler_bypass_lookup")


def check(case: Case) -> Iterator[Finding]:
    """One finding where two processes that must agree on hashes do not."""
    settings = in_process_settings(case)
    if settings is None or not settings.hashes_differ or case.facts.answer.config is None:
        return
    if case.facts.deployment.is_unknown(Area.ENV, "PYTHONHASHSEED"):
        return
    values = settings.values
    algorithm = values.get("pre_caching_hash_algorithm")
    if separate_processes(case) and not any(values.get(key) for key in _OTHER_LOOKUP):
        who = "vLLM's scheduler and its workers"
        consequence = "nothing that LMCache stores is ever found: no external hits"
    elif any(values.get(key) for key in _SHARED):
        who = "servers that share a store"
        consequence = "no server finds what another has stored, nor its own after a restart"
    else:
        return
    yield Finding(
        ID,
        SEVERITY,
        f"{who} hash the same tokens differently: hash algorithm {algorithm} without "
        "PYTHONHASHSEED",
        consequence,
        '`env: {PYTHONHASHSEED: "0"}`, the same for every server that shares a store',
        case.connector_origin,
    )
