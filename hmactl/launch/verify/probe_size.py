"""How long the prompts of a probe have to be."""

from dataclasses import dataclass

from hmactl.launch.verify.found import Cache

ANSWER_TOKENS = 4
_CHUNKS = 16
_PUSH_LENGTH = 8192


class CannotProbeError(Exception):
    """No probe of this server would prove anything; the text says why and what would help."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """In tokens. ``long`` is the prompt whose prefix must come back, ``shared`` the part of it
    that the shorter prompt has, too. ``push`` in prompts of ``push_length`` pushes a prompt out of
    the GPU's cache. ``chunk`` None: it is not known how much is stored at a time.
    """

    long: int
    shared: int
    chunk: int | None
    push: int
    push_length: int

    def expected(self, local: int) -> int:
        """The tokens that must come from outside where the GPU still had ``local``."""
        if self.chunk is None:
            return 1
        return max(0, self.long // self.chunk * self.chunk - local)


def probe_sizes(
    cache: Cache, max_model_len: int | None, chunk: int | None, budget: int, *, resets: bool
) -> Sizes:
    """Sizes that fit this server and go beyond a chunk, for ``budget`` prompt tokens in all.

    ``resets``: the server can be told to empty the GPU's cache, so that nothing is pushed out.
    Raises CannotProbeError.
    """
    if cache.block_size is None or cache.num_blocks is None or max_model_len is None:
        raise CannotProbeError("the server does not say how large its KV cache is")
    unit = max(chunk or 256, cache.block_size)
    # Blocks of several groups make this more than the cache holds, never less.
    capacity = cache.tokens or cache.block_size * cache.num_blocks
    longest = min(max_model_len - ANSWER_TOKENS - 1, capacity * 3 // 4)
    # Half a unit more than whole ones: what is kept of a prompt's end differs between connectors.
    units = min(_CHUNKS, (longest - unit // 2) // unit, max(1, budget // 8 // unit))
    if units < 1:
        raise CannotProbeError(
            f"no prompt that fits ({longest:,} tokens) has a whole chunk of {unit:,} tokens"
        )
    long = units * unit + unit // 2
    push = 0 if resets else capacity + long
    if 5 * long + push > budget:
        raise CannotProbeError(
            f"{5 * long + push:,} tokens push a prompt out of a KV cache of {capacity:,} tokens, "
            f"more than the {budget:,} of --probe-tokens; a server with VLLM_SERVER_DEV_MODE=1 can "
            "empty its cache instead"
        )
    return Sizes(
        long=long,
        shared=max(1, units // 2) * unit,
        chunk=chunk,
        push=push,
        push_length=min(longest, max(long, _PUSH_LENGTH)),
    )
