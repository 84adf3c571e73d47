"""The versions of an answer that a test makes up about the engine that it was tried on."""

from hmactl.engine.answer import Versions

VERSIONS = Versions(
    vllm="0.32.0",
    vllm_path="",
    lmcache="0.5.6",
    torch="2.13.0",
    transformers=None,
    python="3.11.7",
    python_path="",
)
