"""How vLLM's KV cache manager puts layers into groups."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hmactl.catalogue.estimate.question import UnknownError
from hmactl.catalogue.estimate.specs import CHUNKED, FULL, MAMBA, MLA, SLIDING, Need, Spec

CANNOT_UNIFY = "Failed to promote local KV cache specs to one unified type."


class CannotUnifyError(Exception):
    """Without HMA all layers must keep alike, and these cannot."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with a KV cache of its own: its place in the model, and what it keeps."""

    index: int
    spec: Spec


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table. ``spec`` is what vLLM's scheduler shows of them."""

    layers: tuple[Layer, ...]
    spec: Spec

    @property
    def page(self) -> int:
        """Bytes of a block of all the group's layers."""
        return sum(layer.spec.page for layer in self.layers)

    def blocks(self, need: Need) -> int:
        """Blocks that one request takes."""
        return max((layer.spec.blocks(need) for layer in self.layers), default=0)

    def of_stage(self, start: int, end: int) -> "Group":
        """What of it is on a pipeline stage."""
        return replace(self, layers=tuple(x for x in self.layers if start <= x.index < end))


def group(layers: Sequence[Layer], *, hma: bool, padding: float) -> tuple[Group, ...]:
    """The groups, with HMA or without.

    ``padding``: up to how many times the fewest layers of a kind the most may be, for groups as
    large as the most. Raises CannotUnifyError, and UnknownError for what is not estimated.
    """
    layers = list(layers) if hma else _promoted(layers)
    if not layers:
        return ()
    if _mergeable(layer.spec for layer in layers) or _alike(layers):
        return (Group(tuple(layers), _merged(layers)),)
    return tuple(_equal_groups(_one_page(layers), padding))


def _promoted(layers: Sequence[Layer]) -> list[Layer]:
    """Windows and chunks keep everything where another layer does."""
    if not layers or _mergeable(layer.spec for layer in layers) or _alike(layers):
        return list(layers)
    full = {layer.spec.block_size for layer in layers if layer.spec.keeps_all}
    if full and any(layer.spec.kind in {SLIDING, CHUNKED} for layer in layers):
        layers = [_keeping_all(layer, full) for layer in layers]
    if not (_mergeable(layer.spec for layer in layers) or _alike(layers)):
        raise CannotUnifyError(CANNOT_UNIFY)
    return list(layers)


def _keeping_all(layer: Layer, full: set[int]) -> Layer:
    if layer.spec.kind not in {SLIDING, CHUNKED}:
        return layer
    if layer.spec.padded is not None:
        raise UnknownError("a padded window without HMA is not estimated")
    block_size = next(iter(full)) if len(full) == 1 else layer.spec.block_size
    return replace(layer, spec=replace(layer.spec, kind=FULL, block_size=block_size))


def _mergeable(specs: Iterable[Spec]) -> bool:
    """vLLM can make one spec of these: equal ones, or full ones with one window among them."""
    specs = set(specs)
    kinds = {spec.kind for spec in specs}
    if len(kinds) > 1:
        return False
    if kinds != {FULL}:
        return len(specs) == 1
    if len({replace(spec, window=None, chunk=None) for spec in specs}) > 1:
        return False
    for sizes in ({spec.window for spec in specs}, {spec.chunk for spec in specs}):
        if len(sizes - {None}) > 1:
            raise UnknownError("layers with different windows that keep everything")
    return True


def _alike(layers: Sequence[Layer]) -> bool:
    """All need as many blocks as the others, of whatever size."""
    specs = [layer.spec for layer in layers]
    if len({spec.block_size for spec in specs}) > 1:
        return False
    first = specs[0]
    if first.keeps_all:
        return all(spec.keeps_all for spec in specs)
    if first.kind == MAMBA:
        return all(spec.kind == MAMBA and spec.page == first.page for spec in specs)
    return all(
        (spec.kind, spec.window, spec.chunk) == (first.kind, first.window, first.chunk)
        for spec in specs
    )


def _merged(layers: Sequence[Layer]) -> Spec:
    first = layers[0].spec
    if first.kind != FULL or not _mergeable(layer.spec for layer in layers):
        return first
    windows = {layer.spec.window for layer in layers} - {None}
    chunks = {layer.spec.chunk for layer in layers} - {None}
    return replace(first, window=next(iter(windows), None), chunk=next(iter(chunks), None))


def _one_page(layers: Sequence[Layer]) -> list[Layer]:
    """Larger blocks, or padded ones, until a block has one size everywhere."""
    largest = max(layer.spec.page for layer in layers)
    return [replace(layer, spec=_of_page(layer.spec, largest)) for layer in layers]


def _of_page(spec: Spec, page: int) -> Spec:
    if spec.page == page:
        return spec
    if spec.kind == MAMBA:
        return replace(spec, padded=page)
    if page % spec.page == 0 and spec.padded is None:
        return replace(spec, block_size=spec.block_size * (page // spec.page))
    if spec.kind == MLA or spec.padded is not None:
        raise UnknownError("blocks whose sizes do not divide each other")
    return replace(spec, padded=page)


def _equal_groups(layers: Sequence[Layer], padding: float) -> Iterator[Group]:
    kinds: dict[Spec, list[Layer]] = defaultdict(list)
    for layer in layers:
        kinds[layer.spec].append(layer)
    buckets: list[list[Layer]] = []
    for members in kinds.values():
        for bucket in buckets:
            if _mergeable(layer.spec for layer in [*bucket, *members]):
                bucket.extend(members)
                break
        else:
            buckets.append(list(members))
    fewest, most = min(map(len, buckets)), max(map(len, buckets))
    size = most if most < fewest * padding else fewest
    for bucket in buckets:
        count = -(-len(bucket) // size)
        for number in range(count):
            members = bucket[number::count]
            yield Group(tuple(members), _merged(members))
