"""The draft model of speculative decoding, built beside its target as vLLM's proposers do it."""

import types
from typing import Any

import torch


def build(config: Any) -> torch.nn.Module | None:
    """The draft's model; None where nothing is drafted by a model of its own.

    Its attention layers register themselves in ``config``, so they join the target's.
    """
    speculative = config.speculative_config
    draft_config = getattr(speculative, "draft_model_config", None)
    if draft_config is None or not _drafts_with_a_model(speculative):
        return None
    from vllm.compilation.backends import set_model_tag
    from vllm.model_executor.model_loader.utils import initialize_model

    if speculative.method == "draft_model":
        # Without a prefix of their own its layers would have the names of the target's.
        with set_model_tag("draft_model"):
            return initialize_model(_standalone(config), prefix="draft_model")
    overrides = getattr(speculative, "apply_draft_overrides", None)
    with set_model_tag("eagle_head"):
        layers = set(config.compilation_config.static_forward_context)
        draft = initialize_model(
            _non_causal(overrides(config) if overrides else config), model_config=draft_config
        )
    if "Gemma4MTPModel" in draft_config.architectures:
        _read_targets_cache(config, draft, layers)
    return draft


def own_weight_bytes(config: Any, draft: torch.nn.Module, target: torch.nn.Module) -> int:
    """Bytes of the draft's weights that are not the target's.

    vLLM lets a draft use the embedding and the output head of its target unless the checkpoint
    brings others, which is not known here: those of the target's shape count as the target's.
    """
    from .model import weight_bytes

    total = weight_bytes(draft)
    if config.speculative_config.method in {"draft_model", "medusa"}:
        return total
    from vllm.model_executor.layers.vocab_parallel_embedding import (
        ParallelLMHead,
        VocabParallelEmbedding,
    )

    def of_kind(model: torch.nn.Module, kind: Any) -> dict[int, torch.Tensor]:
        modules = (m for m in model.modules() if type(m) is kind and hasattr(m, "weight"))
        return {id(m.weight): m.weight for m in modules}

    pipeline = config.parallel_config.pipeline_parallel_size > 1
    for kind, own in (
        (VocabParallelEmbedding, pipeline or getattr(draft, "has_own_embed_tokens", False)),
        (ParallelLMHead, getattr(draft, "has_own_lm_head", False)),
    ):
        shapes = {tuple(weight.shape) for weight in of_kind(target, kind).values()}
        if not own:
            total -= sum(
                weight.numel() * weight.element_size()
                for weight in of_kind(draft, kind).values()
                if tuple(weight.shape) in shapes
            )
    return total


def _drafts_with_a_model(speculative: Any) -> bool:
    # n-gram methods carry the target's own config as their draft's.
    if speculative.method == "medusa":
        return True
    keeps_cache = getattr(speculative, "uses_draft_kv_cache", None)
    if keeps_cache is not None:
        return bool(keeps_cache())
    return bool(speculative.use_eagle()) or speculative.method == "draft_model"


def _standalone(config: Any) -> Any:
    speculative = config.speculative_config
    changes: dict[str, Any] = {
        "model_config": speculative.draft_model_config,
        "quant_config": None,
        "parallel_config": _replace(
            speculative.draft_parallel_config, rank=config.parallel_config.rank
        ),
    }
    cache_dtype = getattr(speculative, "kv_cache_dtype", None)
    if cache_dtype is not None:
        changes["cache_config"] = _replace(config.cache_config, cache_dtype=cache_dtype)
    return _replace(config, **changes)


def _non_causal(config: Any) -> Any:
    """Drafts that fill in a whole block at once need an attention backend for that."""
    if config.speculative_config.method not in {"dflash", "dspark"}:
        return config
    try:
        from vllm.model_executor.models.qwen3_dflash import dflash_has_any_non_causal
    except ImportError:  # older versions have one kind only, and take care of it themselves
        return config
    draft = config.speculative_config.draft_model_config.hf_config
    attention = _replace(config.attention_config, use_non_causal=dflash_has_any_non_causal(draft))
    return _replace(config, attention_config=attention)


def _replace(config: Any, **changes: Any) -> Any:
    try:
        from vllm.config.utils import replace
    except ImportError:
        from dataclasses import replace
    return replace(config, **changes)


def _read_targets_cache(config: Any, draft: torch.nn.Module, target_layers: set[str]) -> None:
    """Let the engine point the layers of such a draft to the target's: they keep no cache."""
    import vllm.v1.spec_decode.gemma4 as gemma4

    proposer = types.SimpleNamespace(
        speculative_config=config.speculative_config, vllm_config=config, model=draft
    )
    gemma4.Gemma4Proposer._setup_gemma4_kv_sharing(proposer, target_layers)
