"""How a probe is sized, and when two answers are the same."""

import pytest

from hmactl.launch.verify.completion import Completion, difference
from hmactl.launch.verify.found import Cache
from hmactl.launch.verify.probe_size import CannotProbeError, probe_sizes


def _cache(blocks: int, block_size: int = 16, tokens: int | None = None) -> Cache:
    return Cache("0", block_size, blocks, tokens, None, None)


@pytest.mark.parametrize(
    ("blocks", "max_model_len", "chunk", "budget"),
    [
        (170, 8192, 256, 500_000),
        (18_187, 75_000, 256, 500_000),
        (18_187, 75_000, None, 500_000),
        (1_000, 600, 256, 500_000),
        (40, 8192, 256, 500_000),
        (2_000, 131_072, 2048, 500_000),
    ],
)
@pytest.mark.parametrize("resets", [True, False])
def test_it_fits_and_goes_beyond_what_it_must(
    blocks: int, max_model_len: int, chunk: int | None, budget: int, resets: bool
) -> None:
    sizes = probe_sizes(_cache(blocks), max_model_len, chunk, budget, resets=resets)
    assert sizes.long < max_model_len
    assert sizes.long < 16 * blocks
    assert sizes.long > (chunk or 256)
    assert 0 < sizes.shared < sizes.long
    several = sizes.at_once * sizes.each
    assert 5 * sizes.long + 4 * several + sizes.push * (2 if several else 1) <= budget
    assert 0 <= sizes.each <= sizes.long
    assert several <= 16 * blocks // 2
    assert bool(sizes.at_once) == bool(sizes.expected_at_once(0)) or chunk is None
    assert sizes.at_once != 1
    assert sizes.push_length < max_model_len
    assert resets or sizes.push >= 16 * blocks + sizes.at_once * sizes.each
    assert 0 < sizes.expected(0) <= sizes.long
    if chunk is not None:
        assert sizes.expected(0) % chunk == 0
        assert sizes.expected(sizes.long) == 0


@pytest.mark.parametrize(
    ("cache", "max_model_len", "resets", "words"),
    [
        (_cache(20_000), 300, True, "whole chunk of 256"),
        (_cache(8), 8192, True, "whole chunk of 256"),
        (_cache(100_000), 8192, False, "VLLM_SERVER_DEV_MODE"),
        (Cache("0", None, None, None, None, None), 8192, True, "how large"),
        (_cache(100), None, True, "how large"),
    ],
)
def test_what_would_prove_nothing_is_refused(
    cache: Cache, max_model_len: int | None, resets: bool, words: str
) -> None:
    with pytest.raises(CannotProbeError, match=words):
        probe_sizes(cache, max_model_len, 256, 500_000, resets=resets)


COLD = Completion(1.0, ("a", "b"), (-1.0, -2.0), ({"a": -1.0, "x": -1.05}, {"b": -2.0, "y": -2.6}))


@pytest.mark.parametrize(
    ("tokens", "logprobs", "words"),
    [
        (("a", "b"), (-1.0, -2.0), None),
        (("a", "b"), (-1.01, -2.1), None),
        (("x", "c"), (-1.0, -9.0), None),  # a tie at the first token
        (("a", "y"), (-1.0, -2.0), "token 2 is another one"),
        (("z", "b"), (-1.0, -2.0), "token 1 is another one"),
        (("a", "b"), (-1.0, -3.0), "token 2 is -2.000, then -3.000"),
        (("a",), (-1.0,), "one is longer"),
    ],
)
def test_two_answers(
    tokens: tuple[str, ...], logprobs: tuple[float, ...], words: str | None
) -> None:
    found = difference(COLD, Completion(0.1, tokens, logprobs, ()))
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert words in found
