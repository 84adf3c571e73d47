"""Which of the known forms an architecture of vLLM's has."""

from hmactl.catalogue.estimate import attention, hybrid
from hmactl.catalogue.estimate.config import ModelConfig
from hmactl.catalogue.estimate.model import Builder, Model
from hmactl.catalogue.estimate.question import UnknownError

_FORMS: tuple[tuple[Builder, tuple[str, ...]], ...] = (
    (
        attention.dense,
        (
            "ArceeForCausalLM",
            "CohereForCausalLM",
            "Ernie4_5ForCausalLM",
            "Ernie4_5_MoeForCausalLM",
            "FlexOlmoForCausalLM",
            "GPTNeoXForCausalLM",
            "GemmaForCausalLM",
            "Glm4ForCausalLM",
            "Glm4vForConditionalGeneration",
            "GlmForCausalLM",
            "GraniteMoeForCausalLM",
            "InternLM2ForCausalLM",
            "InternVLForConditionalGeneration",
            "MiMoForCausalLM",
            "MiniMaxM2ForCausalLM",
            "MixtralForCausalLM",
            "OPTForCausalLM",
            "Olmo2ForCausalLM",
            "OlmoForCausalLM",
            "OlmoeForCausalLM",
            "PersimmonForCausalLM",
            "Phi3ForCausalLM",
            "PhiForCausalLM",
            "PhiMoEForCausalLM",
            "Qwen2ForCausalLM",
            "Qwen2MoeForCausalLM",
            "Qwen2VLForConditionalGeneration",
            "Qwen2_5_VLForConditionalGeneration",
            "Qwen3MoeForCausalLM",
            "Qwen3OmniMoeForConditionalGeneration",
            "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration",
            "SeedOssForCausalLM",
            "SmolLM3ForCausalLM",
            "StableLmForCausalLM",
            "Starcoder2ForCausalLM",
        ),
    ),
    (
        attention.dense_or_by_types,
        (
            "ApertusForCausalLM",
            "GraniteForCausalLM",
            "LlamaForCausalLM",
            "Ministral3ForCausalLM",
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
    (
        attention.pattern(4),
        (
            "Exaone4ForCausalLM",
            "Exaone4_5_ForConditionalGeneration",
            "Olmo3ForCausalLM",
        ),
    ),
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
