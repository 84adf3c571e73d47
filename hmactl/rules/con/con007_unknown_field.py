"""A field that KVTransferConfig does not have, and this vLLM does not say so.

What: up to 0.15 vLLM leaves fields out of `--kv-transfer-config` that it does not know; later
versions refuse them (CLI002). Fields come and go: `kv_load_failure_policy` came with 0.13.0,
`kv_rank`, `kv_parallel_size`, `kv_buffer_size` and `kv_ip` went with 0.32.0.

Why: what was asked for does not happen, and after an update the server does not start.

Failing example: `options: {kv_load_failure_policy: recompute}` on vLLM 0.12.

Passing example: the same on vLLM 0.15.

Source: the fields that the installed KVTransferConfig has, and what it makes of others.

Since: 0.1.0.
"""

import difflib
from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON007"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding for each field, children's included, that is silently left out."""
    traits = case.facts.answer.traits
    if traits is None or not traits.transfer_fields or not traits.ignores_unknown_fields:
        return
    if case.facts.connector is None:
        return
    for connector in case.facts.connector.walk():
        for name in connector.options:
            if name in traits.transfer_fields:
                continue
            similar = difflib.get_close_matches(name, traits.transfer_fields, n=2, cutoff=0.7)
            yield Finding(
                ID,
                SEVERITY,
                f"vLLM {case.facts.answer.versions.vllm} has no field `{name}` in its "
                "KVTransferConfig",
                "it is left out without a word; newer versions refuse to start with it",
                f"did you mean {' or '.join(f'`{s}`' for s in similar)}?"
                if similar
                else "remove it, or use a vLLM that has it",
                connector.origin,
            )
