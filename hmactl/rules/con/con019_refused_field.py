"""A field that KVTransferConfig does not have, and this vLLM refuses it.

What: from 0.16.0 on vLLM takes no field in `--kv-transfer-config` that it does not know, nor in a
MultiConnector's children. `kv_rank`, `kv_parallel_size`, `kv_buffer_size` and `kv_ip`, which many
guides still have, went with 0.32.0. With an engine its own parser says so (CLI002, ENG001); this is
the same without one, for a pinned version.

Why: the server ends within the first minute with a validation error.

Failing example: `options: {kv_rank: 0}` with `target: {vllm: "0.32.0"}`.

Passing example: the same with `target: {vllm: "0.31.0"}`.

Source: the fields of every release's KVTransferConfig and what it makes of others, read from its
source into hmactl's catalogue.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.con.unknown_fields import unknown_fields

ID = "CON019"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each field, children's included, where no engine was asked."""
    if case.facts.answer.traits is not None:
        return
    for field in unknown_fields(case):
        if not field.ignored:
            yield Finding(
                ID,
                SEVERITY,
                field.message,
                "vLLM refuses it when it starts, before weights are loaded",
                field.fix,
                field.origin,
                field.edit,
            )
