"""A field that KVTransferConfig does not have, and this vLLM does not say so.

What: up to 0.15 vLLM leaves fields out of `--kv-transfer-config` that it does not know; later
versions refuse them (CLI002, or CON019 without an engine). Fields come and go:
`kv_load_failure_policy` came with 0.13.0, `kv_rank`, `kv_parallel_size`, `kv_buffer_size` and
`kv_ip` went with 0.32.0. Without an engine and without a pinned version it speaks of fields that no
supported release has.

Why: what was asked for does not happen, and after an update the server does not start.

Failing example: `options: {kv_load_failure_policy: recompute}` on vLLM 0.12.

Passing example: the same on vLLM 0.15.

Source: the fields that the installed KVTransferConfig has, and what it makes of others; without an
engine the same of every release, in hmactl's catalogue.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.transfer_fields import Others
from hmactl.engine.answer import Traits
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.con.unknown_fields import field_edit, suggestion, unknown_fields

ID = "CON007"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding for each field, children's included, that is silently left out."""
    traits = case.facts.answer.traits
    if traits is not None:
        yield from _of_the_engine(case, traits)
        return
    for field in unknown_fields(case):
        if not field.ignored:
            continue
        refusing = [r.version for r in field.releases if r.others is Others.REFUSED]
        consequence = "it is left out without a word; newer versions refuse to start with it"
        if refusing:
            consequence = (
                f"vLLM {refusing[0]} and newer refuse to start with it, older ones leave it out "
                "without a word"
            )
        yield Finding(ID, SEVERITY, field.message, consequence, field.fix, field.origin, field.edit)


def _of_the_engine(case: Case, traits: Traits) -> Iterator[Finding]:
    if not traits.transfer_fields or not traits.ignores_unknown_fields:
        return
    connector = case.facts.connector
    for one in () if connector is None else connector.walk():
        for name in one.options:
            if name in traits.transfer_fields:
                continue
            yield Finding(
                ID,
                SEVERITY,
                f"vLLM {case.facts.answer.versions.vllm} has no field `{name}` in its "
                "KVTransferConfig",
                "it is left out without a word; newer versions refuse to start with it",
                suggestion(name, traits.transfer_fields),
                one.place_of(name) or one.origin,
                field_edit(case, one, name, traits.transfer_fields),
            )
