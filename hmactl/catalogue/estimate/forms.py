"""What of a question a release has to have been checked for."""

from collections.abc import Iterator

from hmactl.catalogue.estimate.model import Attention, Latent, Model
from hmactl.catalogue.estimate.question import Question


def forms_of(question: Question, model: Model, *, fp8: bool) -> frozenset[str]:
    """Names of kinds of layers, and of settings that touch them."""
    forms = set(_layers(model))
    attention = [layer for layer in model.layers if isinstance(layer, Attention)]
    if len({layer.kv_heads * layer.head_size for layer in attention}) > 1:
        forms.add("different_heads")
    if any(layer.head_size != layer.head_size_v for layer in attention):
        forms.add("unequal_k_and_v")
    if model.sparse and len(model.layers) < 2 * model.depth:
        forms.add("shared_indexers")
    if model.sees_both_sides:
        forms.add("images_seen_from_both_sides")
    if fp8:
        forms |= {f"fp8_{form}" for form in forms & {"full", "mla", "sparse_mla", "window"}}
    if question.block_size is not None:
        forms |= {f"block_size_for_{form}" for form in forms & {"full", "mla", "window"}}
        if model.hybrid:
            forms.add("block_size_beside_states")
    if model.hybrid and question.prefix_caching is not None:
        forms.add("prefix_caching_beside_states")
    if forms & {"window", "chunk"} and question.pipeline_parallel_size > 1:
        forms.add("pipeline_stages_of_windows")
    if forms & {"window", "chunk"} and question.async_scheduling is False:
        forms.add("windows_without_async_scheduling")
    if question.pipeline_parallel_size > 1:
        forms.add("pipeline_stages_of_states" if model.hybrid else "pipeline_stages")
    if question.decode_context_parallel_size > 1:
        forms |= {f"decode_context_parallel_{form}" for form in forms & {"full", "mla"}}
    return frozenset(forms)


def _layers(model: Model) -> Iterator[str]:
    for layer in model.layers:
        if isinstance(layer, Latent):
            yield "sparse_mla" if model.sparse else "mla"
        elif isinstance(layer, Attention):
            yield "window" if layer.window else "chunk" if layer.chunk else "full"
        else:
            yield layer.form
