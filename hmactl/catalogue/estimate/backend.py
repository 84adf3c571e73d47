"""Which block sizes vLLM's attention backends take on a GPU."""

from dataclasses import dataclass

from hmactl.catalogue.estimate.model import Attention, Model
from hmactl.catalogue.estimate.question import UnknownError
from hmactl.catalogue.estimate.releases import Release
from hmactl.catalogue.gpus import Gpu

_DEFAULT = 16
# FlashAttention 4 reads an fp8 KV cache of heads this large in tiles of 64 tokens.
_TILED_HEAD_SIZE = 512
# Of these FlashInfer beside Triton takes blocks of 64 tokens only.
_PREFIX_HEAD_SIZES = {256, 512}
# The first compute capability with arithmetic of fp8.
_NATIVE_FP8 = (8, 9)
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


def attention(gpu: Gpu | None, model: Model, release: Release, *, fp8: bool) -> Blocks:
    """Of attention with K and V of their own."""
    major = generation(gpu)
    sizes = {layer.head_size for layer in model.layers if isinstance(layer, Attention)}
    if fp8 and model.sinks:
        _check_fp8(gpu)
    if major == 10 and model.sees_both_sides and sizes <= _PREFIX_HEAD_SIZES:
        return Blocks(release.prefix_block_size, release.prefix_block_size)
    if major == 9 and fp8 and _TILED_HEAD_SIZE in sizes:
        return Blocks(64, 64)
    return Blocks(_DEFAULT, _DEFAULT)


def mla(gpu: Gpu | None, model: Model, release: Release, *, fp8: bool) -> Blocks:
    """Of MLA over the whole context."""
    major = generation(gpu)
    if major == 10 and model.nope_head_size not in _FLASHINFER_NOPE:
        raise UnknownError("MLA of other head sizes than DeepSeek's on Blackwell")
    if fp8:
        _check_fp8(gpu)
    size = 64 if major == 9 and fp8 else release.mla_block_sizes[str(major)]
    return Blocks(size, size)


def _check_fp8(gpu: Gpu | None) -> None:
    if gpu is not None and gpu.capability < _NATIVE_FP8:
        raise UnknownError(f"{gpu.name} has no kernels for such an fp8 KV cache")


def sparse_mla(gpu: Gpu | None) -> Blocks:
    """Of MLA over the tokens that an indexer picks."""
    if generation(gpu) not in {9, 10}:
        raise UnknownError("sparse MLA on this GPU")
    return Blocks(64, 64)
