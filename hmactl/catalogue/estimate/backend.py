"""Which block sizes vLLM's attention backends take on a GPU."""

from dataclasses import dataclass

from hmactl.catalogue.estimate.question import UnknownError
from hmactl.catalogue.gpus import Gpu

_DEFAULT = 16
# FlashAttention 4 reads an fp8 KV cache of heads this large in tiles of 64 tokens.
_TILED_HEAD_SIZE = 512
# Of these FlashInfer beside Triton takes blocks of 64 tokens only.
_PREFIX_HEAD_SIZES = {256, 512}
# What FlashInfer's MLA kernel takes of qk_nope_head_dim.
_FLASHINFER_NOPE = {64, 128, 192}


@dataclass(frozen=True, slots=True)
class Blocks:
    """Block sizes in tokens: what vLLM takes by itself, and of what a larger one is a multiple."""

    preferred: int
    kernel: int

    def of(self, asked: int | None) -> int:
        """The operator's block size, or vLLM's own."""
        if asked is None:
            return self.preferred
        if asked <= 0 or asked % self.kernel:
            raise UnknownError(f"blocks of {asked} tokens lead to another attention backend")
        return asked


def generation(gpu: Gpu | None) -> int:
    """The major number of the compute capability. Raises UnknownError where it is not modelled."""
    if gpu is None:
        raise UnknownError("the GPU decides about attention backends, and it is not known")
    if gpu.capability[0] not in {8, 9, 10, 12}:
        raise UnknownError(f"attention backends on {gpu.name} are not modelled")
    return gpu.capability[0]


def attention(gpu: Gpu | None, head_sizes: set[int], *, fp8: bool, sees_both_sides: bool) -> Blocks:
    """Of attention with K and V of their own.

    ``sees_both_sides``: the tokens of an image see each other.
    """
    major = generation(gpu)
    if major == 10 and sees_both_sides and head_sizes <= _PREFIX_HEAD_SIZES:
        return Blocks(64, 64)
    if major == 9 and fp8 and _TILED_HEAD_SIZE in head_sizes:
        return Blocks(64, 64)
    return Blocks(_DEFAULT, _DEFAULT)


def mla(gpu: Gpu | None, *, fp8: bool, nope_head_size: int | None) -> Blocks:
    """Of MLA over the whole context."""
    major = generation(gpu)
    if major == 10:
        if nope_head_size not in _FLASHINFER_NOPE:
            raise UnknownError("MLA of other head sizes than DeepSeek's on Blackwell")
        return Blocks(32, 32)
    if major == 9 and fp8:
        return Blocks(64, 64)
    return Blocks(_DEFAULT, _DEFAULT)


def sparse_mla(gpu: Gpu | None) -> Blocks:
    """Of MLA over the tokens that an indexer picks."""
    if generation(gpu) not in {9, 10}:
        raise UnknownError("sparse MLA on this GPU")
    return Blocks(64, 64)
