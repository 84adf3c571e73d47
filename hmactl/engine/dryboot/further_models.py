"""Models that a deployment needs besides the one it names first.

That is the draft of speculative decoding, or the model that a speculator, served by its own name,
was made for. vLLM looks for their configs by itself, on the hub, which a dry boot does not reach.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Their "model" is no model.
_WITHOUT_DRAFT = frozenset(
    {"custom_class", "extract_hidden_states", "ngram", "[ngram]", "ngram_gpu", "suffix"}
)


def named(arguments: Any, model_directory: str | None) -> Iterator[dict[str, Any]]:
    """Each of them as ``{"model": name, "revision": text or None}``."""
    draft = _draft(arguments)
    method = draft.get("method") or getattr(arguments, "spec_method", None)
    model = draft.get("model") or getattr(arguments, "spec_model", None)
    if method not in _WITHOUT_DRAFT and _is_a_model(model):
        yield {"model": model, "revision": draft.get("revision")}
    verifier = _verifier(model_directory)
    if verifier is not None:
        yield {"model": verifier, "revision": None}


def put(arguments: Any, directories: Mapping[str, str]) -> None:
    """Let the engine find the models of these names in these directories.

    A directory's name has to end with the model's: vLLM tells some kinds of draft by their name.
    """
    draft = _draft(arguments)
    if draft.get("model") in directories:
        arguments.speculative_config = draft | {"model": directories[draft["model"]]}
    if getattr(arguments, "spec_model", None) in directories:
        arguments.spec_model = directories[arguments.spec_model]
    import vllm.engine.arg_utils as arg_utils

    resolve = getattr(arg_utils, "maybe_override_with_speculators", None)
    if resolve is None:
        return

    def resolve_here(*args: Any, **kwargs: Any) -> Any:
        found = resolve(*args, **kwargs)
        return tuple(directories.get(v, v) if isinstance(v, str) else v for v in found)

    arg_utils.maybe_override_with_speculators = resolve_here


def _draft(arguments: Any) -> dict[str, Any]:
    settings = getattr(arguments, "speculative_config", None)
    return settings if isinstance(settings, dict) else {}


def _is_a_model(name: Any) -> bool:
    # Without a slash it may be the path of a class as well.
    return isinstance(name, str) and ("/" in name or Path(name).is_dir())


def _verifier(model_directory: str | None) -> str | None:
    if model_directory is None:
        return None
    try:
        config = json.loads(Path(model_directory, "config.json").read_text("utf-8"))
        name = config["speculators_config"]["verifier"]["name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if _is_a_model(name) else None
