"""One streamed completion: its tokens, their log-probabilities, and when the first one came."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hmactl.launch.verify.probe_size import ANSWER_TOKENS
from hmactl.launch.verify.server import NoAnswerError, Server

# Two runs of a GPU differ by less, where nothing is wrong.
_TOLERANCE = 0.15


@dataclass(frozen=True, slots=True)
class Completion:
    """``first_token`` is in seconds after the request; ``alternatives`` are the log-probabilities
    of the likeliest tokens at each place."""

    first_token: float
    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    alternatives: tuple[Mapping[str, float], ...]


def complete(server: Server, model: str, prompt: Sequence[int], timeout: float) -> Completion:
    """Complete a prompt of token ids at temperature 0. Raises NoAnswerError."""
    body = {
        "model": model,
        "prompt": list(prompt),
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "logprobs": 2,
        "return_tokens_as_token_ids": True,
        "stream": True,
    }
    started = time.monotonic()
    first: float | None = None
    tokens: list[str] = []
    logprobs: list[float] = []
    alternatives: list[Mapping[str, float]] = []
    for event in server.events("/v1/completions", body, timeout):
        try:
            for choice in event.get("choices") or ():
                found: Any = choice.get("logprobs")
                if not found:
                    continue
                if first is None:
                    first = time.monotonic() - started
                tokens += map(str, found["tokens"])
                logprobs += map(float, found["token_logprobs"])
                alternatives += [dict(top or {}) for top in found.get("top_logprobs") or ()]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoAnswerError("/v1/completions does not answer as vLLM does") from None
    if first is None or len(tokens) != len(logprobs):
        raise NoAnswerError("/v1/completions ended without an answer")
    return Completion(first, tuple(tokens), tuple(logprobs), tuple(alternatives))


def difference(cold: Completion, warm: Completion) -> str | None:
    """How two answers to the same prompt differ beyond what rounding does; None: they do not."""
    pairs = zip(cold.tokens, warm.tokens, cold.logprobs, warm.logprobs, strict=False)
    for place, (one, other, before, after) in enumerate(pairs):
        if one != other:
            known = cold.alternatives[place].get(other) if place < len(cold.alternatives) else None
            if known is not None and abs(known - before) <= _TOLERANCE:
                return None  # a tie: from here on the answers may go apart
            return f"token {place + 1} is another one"
        if abs(before - after) > _TOLERANCE:
            return f"the log-probability of token {place + 1} is {before:.3f}, then {after:.3f}"
    return None if len(cold.tokens) == len(warm.tokens) else "one is longer"
