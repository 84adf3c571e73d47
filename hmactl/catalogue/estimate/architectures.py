"""Which of the known forms an architecture of vLLM's has."""

from hmactl.catalogue.estimate import attention, hybrid
from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.model import Builder, Model
from hmactl.catalogue.estimate.question import UnknownError

_FORMS: tuple[tuple[Builder, tuple[str, ...]], ...] = (
    (
        attention.dense,
        (
            "CohereForCausalLM",
            "InternLM2ForCausalLM",
            "KimiVLForConditionalGeneration",
            "MiMoForCausalLM",
            "MiniMaxM2ForCausalLM",
            "MixtralForCausalLM",
            "Olmo2ForCausalLM",
            "Phi3ForCausalLM",
            "PhiMoEForCausalLM",
            "Qwen2ForCausalLM",
            "Qwen3MoeForCausalLM",
            "Qwen3OmniMoeForConditionalGeneration",
            "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration",
        ),
    ),
    (
        attention.dense_or_by_types,
        (
            "LlamaForCausalLM",
            "Mistral3ForConditionalGeneration",
            "MistralForCausalLM",
            "Qwen3ForCausalLM",
        ),
    ),
    (attention.pattern(2), ("Gemma2ForCausalLM",)),
    (attention.gemma3, ("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration")),
    (
        attention.shared_heads,
        ("Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"),
    ),
    (attention.gemma4, ("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration")),
    (attention.every_second, ("GptOssForCausalLM",)),
    (attention.one_token_wider, ("Cohere2ForCausalLM",)),
    (attention.pattern(4), ("Exaone4ForCausalLM", "Olmo3ForCausalLM")),
    (attention.llama4, ("Llama4ForCausalLM", "Llama4ForConditionalGeneration")),
    (attention.mimo_v2, ("MiMoV2FlashForCausalLM",)),
    (attention.deci, ("DeciLMForCausalLM",)),
    (
        attention.latent,
        (
            "DeepseekV2ForCausalLM",
            "DeepseekV3ForCausalLM",
            "KimiK25ForConditionalGeneration",
        ),
    ),
    (attention.sparse, ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")),
    (hybrid.jamba, ("JambaForCausalLM",)),
    (hybrid.nemotron_h, ("NemotronHForCausalLM",)),
    (hybrid.granite_hybrid, ("GraniteMoeHybridForCausalLM",)),
    (hybrid.bamba, ("BambaForCausalLM",)),
    (hybrid.falcon_h1, ("FalconH1ForCausalLM",)),
    (
        hybrid.gated_delta,
        (
            "OlmoHybridForCausalLM",
            "Qwen3NextForCausalLM",
            "Qwen3_5ForConditionalGeneration",
            "Qwen3_5MoeForConditionalGeneration",
        ),
    ),
    (
        hybrid.kimi_linear,
        ("KimiK3ForConditionalGeneration", "KimiLinearForCausalLM"),
    ),
    (hybrid.short_conv, ("Lfm2ForCausalLM", "Lfm2VlForConditionalGeneration")),
)
_BUILDERS = {name: builder for builder, names in _FORMS for name in names}


def known_architectures() -> tuple[str, ...]:
    """All that are estimated."""
    return tuple(_BUILDERS)


def model_of(config: ModelConfig, ranks: int) -> Model:
    """The layers on one of so many tensor parallel ranks. Raises UnknownError."""
    builder = _BUILDERS.get(config.architecture)
    if builder is None:
        raise UnknownError(f"the layers of {config.architecture} are not estimated")
    return builder(config, ranks)
