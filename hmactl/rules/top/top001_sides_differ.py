"""Prefill and decode servers do not agree.

What: what the prefill server writes, the decode server reads as its own. Both must have the same
dtype, KV cache dtype, attention backend and state of HMA, and block sizes of which one divides the
other. With EAGLE or MTP both need it, with the same number of tokens, because the draft's layers
have KV cache as well.

Why: the servers refuse each other at the first request, or, in older versions, long prompts end in
illegal memory accesses.

Failing example: two documents with NixlConnector, `role: kv_producer` with `kv-cache-dtype: fp8`
and `role: kv_consumer` without.

Passing example: both with `kv-cache-dtype: fp8`.

Source: `compute_nixl_compatibility_hash` of vLLM 0.13.0 to 0.32.0;
https://github.com/vllm-project/vllm/pull/49230.

Since: 0.1.0.
"""

from collections.abc import Iterator, Sequence

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.plans import chosen_plan
from hmactl.rules.together import pairs
from hmactl.verdict.verdict import HMA_OFF

ID = "TOP001"
SEVERITY = Severity.ERROR

# The methods whose drafts read the main model's hidden states, and have KV cache beside it.
_WITH_CACHE = ("eagle", "mtp")


def check_together(cases: Sequence[Case]) -> Iterator[tuple[Case, Finding]]:
    """One finding at the decode server for each thing on which a pair differs."""
    for prefill, decode in pairs(cases):
        for what, flag in _differences(prefill, decode):
            yield (
                decode,
                Finding(
                    ID,
                    SEVERITY,
                    f"{what} here and in {prefill.facts.deployment.name}, whose KV cache this "
                    "server reads",
                    "the servers refuse each other, or the KV cache is read as what it is not",
                    "the same on both sides",
                    decode.flag_origin(flag),
                ),
            )


def _differences(prefill: Case, decode: Case) -> Iterator[tuple[str, str]]:
    ours, theirs = decode.facts.answer.config, prefill.facts.answer.config
    if ours is None or theirs is None:
        return
    if ours.dtype != theirs.dtype:
        yield f"dtype {ours.dtype} and {theirs.dtype}", "dtype"
    if ours.cache_dtype != theirs.cache_dtype:
        yield f"KV cache dtype {ours.cache_dtype} and {theirs.cache_dtype}", "kv-cache-dtype"
    backends = [", ".join(case.facts.answer.attention_backends) for case in (decode, prefill)]
    if all(backends) and backends[0] != backends[1]:
        yield f"attention backends {backends[0]} and {backends[1]}", "attention-backend"
    flags = decode.verdict.flag, prefill.verdict.flag
    if None not in flags and flags[0] != flags[1]:
        states = ["off" if flag == HMA_OFF else "on" for flag in flags]
        yield f"HMA {states[0]} and {states[1]}", "disable-hybrid-kv-cache-manager"
    blocks = [_blocks(case) for case in (decode, prefill)]
    if all(blocks) and len({*blocks}) > 1 and not _divide(*blocks):
        yield f"block sizes {_listed(blocks[0])} and {_listed(blocks[1])}", "block-size"
    drafts = [_draft(case) for case in (decode, prefill)]
    if drafts[0] != drafts[1]:
        yield f"speculative decoding with {drafts[0]} and with {drafts[1]}", "speculative-config"


def _blocks(case: Case) -> tuple[int, ...]:
    plan = chosen_plan(case)
    return () if plan is None else tuple(sorted({group.block_size for group in plan.groups}))


def _divide(ours: tuple[int, ...], theirs: tuple[int, ...]) -> bool:
    return len(ours) == len(theirs) == 1 and max(ours + theirs) % min(ours + theirs) == 0


def _listed(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes))


def _draft(case: Case) -> str:
    config = case.facts.answer.config
    draft = None if config is None else config.speculative
    if draft is None or not any(part in (draft.method or "") for part in _WITH_CACHE):
        return "no draft that has KV cache"
    return f"{draft.method} of {draft.num_tokens} tokens"
