"""LMCache falls back to Python's own hash.

What: `pre_caching_hash_algorithm` names an algorithm that the installed vLLM does not have.

Why: LMCache logs one warning and uses Python's own hash, which is another one for every server
unless PYTHONHASHSEED is the same, and another one than that of servers which have the algorithm.

Failing example: `lmcache: {pre_caching_hash_algorithm: sha256_cbro}`.

Passing example: `lmcache: {pre_caching_hash_algorithm: sha256_cbor}`.

Source: `TokenDatabase._get_vllm_hash_func` in LMCache 0.5.6, and the installed vLLM, which is
asked; https://github.com/LMCache/LMCache/issues/2113.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC034"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where another algorithm than the default was named in vain."""
    if (settings := in_process_settings(case)) is None or settings.hash_loads is not False:
        return
    key = "pre_caching_hash_algorithm"
    if settings.values.get(key) in (None, settings.defaults.get(key), "builtin"):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"vLLM {case.facts.answer.versions.vllm} has no {as_written(case, key)}",
        "LMCache uses Python's own hash instead, and logs one warning",
        f"`{key}: sha256_cbor`",
        origin_of(case, key),
    )
