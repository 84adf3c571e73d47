"""How long the prompts of a probe have to be."""

from dataclasses import dataclass

from hmactl.launch.verify.found import Cache

ANSWER_TOKENS = 4
_CHUNKS = 16
_PUSH_LENGTH = 8192
_AT_ONCE = 3


class CannotProbeError(Exception):
    """No probe of this server would prove anything; the text says why and what would help."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """In tokens. ``long`` is the prompt whose prefix must come back, ``shared`` the part of it
    that the shorter prompt has, too. ``push`` in prompts of ``push_length`` pushes a prompt out of
    the GPU's cache. ``chunk`` None: it is not known how much is stored at a time. ``at_once``
    prompts of ``each`` are sent at the same time; fewer than two: there is no room for that.
    """

    long: int
    shared: int
    chunk: int | None
    push: int
    push_length: int
    at_once: int = 0
    each: int = 0

    def expected(self, local: int) -> int:
        """The tokens of the long prompt that must come from outside where the GPU had ``local``."""
        return self._expected(self.long, 1, local)

    def expected_at_once(self, local: int) -> int:
        """The same of the prompts that are sent at once."""
        return self._expected(self.each, self.at_once, local)

    def _expected(self, length: int, prompts: int, local: int) -> int:
        if self.chunk is None:
            return 1
        return max(0, prompts * (length // self.chunk * self.chunk) - local)


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
    # Half of the cache: what several requests of a hybrid model take together is not said anywhere.
    at_once = min(_AT_ONCE, capacity // 2 // (unit + unit // 2))
    share = capacity // 2 // max(1, at_once)
    each = min(long, (share - unit // 2) // unit * unit + unit // 2)
    several = at_once * each
    push = 0 if resets else capacity + long + several
    if at_once < 2 or 5 * long + 4 * several + 2 * push > budget:
        at_once = each = several = 0
        push = 0 if resets else capacity + long
    sent = 5 * long + push
    if sent > budget:
        raise CannotProbeError(
            f"{sent:,} tokens push a prompt out of a KV cache of {capacity:,} tokens, "
            f"more than the {budget:,} of --probe-tokens; a server with VLLM_SERVER_DEV_MODE=1 can "
            "empty its cache instead"
        )
    return Sizes(
        long=long,
        shared=max(1, units // 2) * unit,
        chunk=chunk,
        push=push,
        push_length=min(longest, max(long, _PUSH_LENGTH)),
        at_once=at_once,
        each=each,
    )
