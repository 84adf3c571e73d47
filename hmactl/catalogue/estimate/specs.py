"""KV cache specs of layers, by the names and with the arithmetic of vLLM's own."""

import math
from dataclasses import dataclass
from typing import Any

FULL = "FullAttentionSpec"
MLA = "MLAAttentionSpec"
SLIDING = "SlidingWindowSpec"
CHUNKED = "ChunkedLocalAttentionSpec"
MAMBA = "MambaSpec"

# A checkpoint that does not say: bfloat16 or float16, for vLLM never keeps another by itself.
SOME_HALF = "half"
# vLLM keeps fp8 as bytes.
FP8 = "uint8"
# Bytes of one element.
DTYPE_BYTES = {SOME_HALF: 2, "bfloat16": 2, "float16": 2, "float32": 4, FP8: 1}
# The names of `--kv-cache-dtype` that only say of which type an element is.
KV_CACHE_DTYPES = {
    SOME_HALF: SOME_HALF,
    "bfloat16": "bfloat16",
    "float16": "float16",
    "fp8": FP8,
    "fp8_e4m3": FP8,
    "fp8_e5m2": FP8,
}


@dataclass(frozen=True, slots=True)
class Need:
    """What decides how many blocks one request takes.

    ``in_flight`` is how many tokens can be scheduled and not yet settled, for which a window's
    blocks stay. ``aligned_states``: Mamba layers keep states where blocks end.
    """

    max_model_len: int
    in_flight: int
    aligned_states: bool
    decode_context_parallel_size: int


@dataclass(frozen=True, slots=True)
class Spec:
    """The KV cache of one layer on one rank. Sizes in bytes, ``block_size`` in tokens.

    ``head_size_v`` 0: one latent vector of an entry, nothing besides. ``window`` of a
    FullAttentionSpec is one that is computed, but keeps nothing free. ``checkpoints`` are further
    states that a prompt leaves behind.
    """

    kind: str
    block_size: int
    num_kv_heads: int = 0
    head_size: int = 0
    head_size_v: int = 0
    dtype: str = ""
    window: int | None = None
    chunk: int | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    mamba_type: str | None = None
    padded: int | None = None
    checkpoints: int = 0

    @property
    def real_page(self) -> int:
        """Bytes of a block's content."""
        if self.kind == MAMBA:
            pairs = zip(self.shapes, self.dtypes, strict=True)
            return sum(math.prod(shape) * DTYPE_BYTES[dtype] for shape, dtype in pairs)
        per_head = (self.head_size + self.head_size_v) * DTYPE_BYTES[self.dtype]
        return self.block_size * self.num_kv_heads * per_head

    @property
    def page(self) -> int:
        """Bytes of a block, padding included."""
        return self.real_page if self.padded is None else self.padded

    @property
    def keeps_all(self) -> bool:
        """Its cache grows with the request, without end."""
        return self.kind in {FULL, MLA}

    def blocks(self, need: Need) -> int:
        """Blocks that one request of the longest length takes."""
        length = need.max_model_len
        if self.keeps_all:
            share = _quotient(length, need.decode_context_parallel_size)
            return _quotient(share, self.block_size)
        if self.kind == SLIDING:
            held = min((self.window or 1) - 1 + need.in_flight, length)
            # A window may begin anywhere within a block.
            return _quotient(held, self.block_size) + 1
        if self.kind == CHUNKED:
            held = min((self.chunk or 0) + need.in_flight, length)
            return _quotient(held, self.block_size)
        return 2 + self.checkpoints if need.aligned_states else 1

    def described(self) -> dict[str, Any]:
        """As the dry boot describes a spec."""
        described: dict[str, Any] = {
            "spec": self.kind,
            "block_size": self.block_size,
            "page_size_bytes": self.page,
        }
        further = {
            "num_kv_heads": self.num_kv_heads or None,
            "head_size": self.head_size or None,
            "dtype": None if self.dtype == SOME_HALF else self.dtype or None,
            "sliding_window": self.window,
            "attention_chunk_size": self.chunk,
            "page_size_padded": self.padded,
            "shapes": [list(shape) for shape in self.shapes] or None,
            "mamba_type": self.mamba_type,
        }
        return described | {key: value for key, value in further.items() if value is not None}


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded up."""
    return -(-dividend // divisor)
