"""The layers of one model on one rank, before blocks have a size."""

from collections.abc import Callable
from dataclasses import dataclass

from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.question import UnknownError


@dataclass(frozen=True, slots=True)
class Attention:
    """A layer of attention. ``kv_heads`` are those of one rank."""

    index: int
    kv_heads: int
    head_size: int
    head_size_v: int
    window: int | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Latent:
    """A layer of MLA: one vector of ``size`` elements for each token, on every rank.

    ``data_type`` is that of the elements, where it is not the KV cache's.
    """

    index: int
    size: int
    data_type: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """A layer that keeps a state and no tokens. ``dtypes`` are those of the shapes.

    "model": the model's own, or what ``--mamba-cache-dtype`` says. ``form`` is the estimator's
    name for such layers, ``kind`` vLLM's.
    """

    index: int
    form: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


AnyLayer = Attention | Latent | State


@dataclass(frozen=True, slots=True)
class Model:
    """All layers with a KV cache of their own, in vLLM's order.

    ``depth`` is what pipeline stages divide. ``sparse``: MLA picks tokens by an indexer.
    ``sees_both_sides``: the tokens of an image see each other. ``sinks``: attention has sinks.
    """

    layers: tuple[AnyLayer, ...]
    depth: int
    sparse: bool = False
    nope_head_size: int | None = None
    sees_both_sides: bool = False
    sinks: bool = False

    @property
    def hybrid(self) -> bool:
        """Attention beside layers with a state."""
        kinds = {isinstance(layer, State) for layer in self.layers}
        return kinds == {True, False}


Builder = Callable[[ModelConfig, int], Model]
"""The layers of a model on a rank of so many tensor parallel ones. Raises UnknownError."""


def share(total: int, ranks: int) -> int:
    """KV heads of one rank; fewer heads than ranks are copied."""
    if total <= 0 or (total % ranks if total >= ranks else ranks % total):
        raise UnknownError(f"{total} KV heads on {ranks} ranks")
    return max(1, total // ranks)


def divided(total: int, ranks: int) -> int:
    """What is only ever split."""
    if total % ranks:
        raise UnknownError(f"{total} is not a multiple of {ranks} ranks")
    return total // ranks
