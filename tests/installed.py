"""What a test makes up of an answer about the engine that it was tried on."""

from hmactl.engine.answer import ConnectorAnswer, Versions

VERSIONS = Versions(
    vllm="0.32.0",
    vllm_path="",
    lmcache="0.5.6",
    torch="2.13.0",
    transformers=None,
    python="3.11.7",
    python_path="",
)


def connector_named(name: str, *, supports_hma: bool | None = None) -> ConnectorAnswer:
    """A connector of which nothing more is known."""
    return ConnectorAnswer(
        name=name,
        role="kv_both",
        module=None,
        class_=None,
        file=None,
        supports_hma=supports_hma,
        error=None,
    )
