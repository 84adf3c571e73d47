"""Where a model's config.json comes from, without downloading the model."""

import json
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hmactl.catalogue.models import find_model, similar_models
from hmactl.engine.model_origin import ModelConfig, ModelOrigin

_HUB = "https://huggingface.co"
_HUB_SECONDS = 10
_HUB_FILES = ("config.json", "hf_quant_config.json")
_SIZES = (
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "vocab_size",
)
_LARGEST_SIZE = 1 << 31
_MOST_LAYERS = 10_000
_LARGEST_CONFIG = 4 << 20  # bytes


class ModelConfigError(Exception):
    """No usable config.json; the message says what was tried, ``fix`` what to do.

    ``further`` names the model where it is not the deployment's own, but a draft's for example.
    """

    def __init__(self, message: str, fix: str, further: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix
        self.further = further


@contextmanager
def model_config(
    model: str, environment: Mapping[str, str], *, base: Path, revision: str | None, offline: bool
) -> Iterator[ModelConfig]:
    """The config of ``model``; a relative path is relative to ``base``.

    Asked in order: a local directory, the Hugging Face cache, the hub unless ``offline``, the
    catalogue. The directory's name ends with the model's, or with that of its snapshot in the
    cache, for vLLM tells some kinds of draft by it. Raises ModelConfigError.
    """
    with tempfile.TemporaryDirectory(prefix="hmactl-model-") as scratch:
        yield _local(model, base) or _remote(
            model, environment, revision or "main", Path(scratch, model), offline=offline
        )


def _local(model: str, base: Path) -> ModelConfig | None:
    directory = base / Path(model).expanduser()
    if not directory.is_dir():
        if model.startswith(("/", "./", "../", "~")):
            raise ModelConfigError(
                f"there is no directory `{model}`", "give a model directory or a hub id"
            )
        return None
    _read(directory / "config.json", of=f"`{model}`")
    return ModelConfig(directory, ModelOrigin.DIRECTORY, str(directory))


def _remote(
    model: str, environment: Mapping[str, str], revision: str, scratch: Path, *, offline: bool
) -> ModelConfig:
    if model.count("/") != 1 or ":" in model:
        raise ModelConfigError(
            f"`{model}` is neither a directory nor a hub id",
            "give a local directory with the model's config.json",
        )
    if cached := _cached(model, environment, revision):
        return cached
    scratch.mkdir(parents=True, exist_ok=True)
    tried = "the Hugging Face cache and the catalogue (offline)"
    if not (offline or environment.get("HF_HUB_OFFLINE") in {"1", "true", "True"}):
        try:
            return _from_hub(model, environment, revision, scratch)
        except (OSError, ValueError) as error:
            tried = f"the Hugging Face cache, the hub ({error}) and the catalogue"
    facts = find_model(model)
    if facts is None:
        raise ModelConfigError(
            f"no config of `{model}` in {tried}",
            "give a local directory with the model's config.json, or log in to the hub"
            + _similar(model),
        )
    (scratch / "config.json").write_text(json.dumps(facts.config), "utf-8")
    return ModelConfig(scratch, ModelOrigin.CATALOGUE, facts.source, facts.as_of)


def _similar(model: str) -> str:
    similar = similar_models(model)
    return f"; the catalogue has {', '.join(similar)}" if similar else ""


def _cached(model: str, environment: Mapping[str, str], revision: str) -> ModelConfig | None:
    home = Path(environment.get("HOME", "~")).expanduser()
    hf_home = Path(environment.get("HF_HOME", home / ".cache" / "huggingface"))
    hub = Path(environment.get("HF_HUB_CACHE", hf_home / "hub"))
    repository = hub / f"models--{model.replace('/', '--')}"
    reference = repository / "refs" / revision
    commit = reference.read_text("utf-8").strip() if reference.is_file() else revision
    snapshot = repository / "snapshots" / commit
    if not (snapshot / "config.json").is_file():
        return None
    _read(snapshot / "config.json", of=f"the cached `{model}`")
    return ModelConfig(snapshot, ModelOrigin.CACHE, str(snapshot))


def _from_hub(
    model: str, environment: Mapping[str, str], revision: str, scratch: Path
) -> ModelConfig:
    endpoint = environment.get("HF_ENDPOINT", _HUB).rstrip("/")
    if not endpoint.startswith(("https://", "http://")):
        raise ValueError(f"HF_ENDPOINT is no web address: {endpoint}")
    address = f"{endpoint}/{model}/resolve/{revision}"
    headers = {"User-Agent": "hmactl"}
    if token := environment.get("HF_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    for name in _HUB_FILES:
        request = urllib.request.Request(f"{address}/{name}", headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_HUB_SECONDS) as response:  # noqa: S310
                (scratch / name).write_bytes(response.read(_LARGEST_CONFIG))
        except urllib.error.HTTPError as error:
            error.close()
            if name == "config.json":
                raise
    _read(scratch / "config.json", of=f"`{model}` on the hub")
    return ModelConfig(scratch, ModelOrigin.HUB, address)


def _read(path: Path, *, of: str) -> dict[str, Any]:
    fix = "a model directory needs the config.json of its model"
    try:
        if os.path.getsize(path) > _LARGEST_CONFIG:  # noqa: PTH202 - follows the cache's links
            raise ModelConfigError(f"config.json of {of} is larger than 4 MiB", fix)
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelConfigError(f"{of} has no config.json", fix) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelConfigError(f"config.json of {of} cannot be read: {error}", fix) from None
    if not isinstance(config, dict):
        raise ModelConfigError(f"config.json of {of} is no JSON object", fix)
    text_config = config.get("text_config")
    for part in (config, text_config if isinstance(text_config, dict) else {}):
        _plausible(part, of, fix)
    return config


def _plausible(config: dict[str, Any], of: str, fix: str) -> None:
    """Refuse what vLLM would take at its word: no layers at all, or layers without end."""
    for name in _SIZES:
        value = config.get(name)
        if isinstance(value, int) and not 0 <= value <= _LARGEST_SIZE:
            raise ModelConfigError(f"config.json of {of} claims {name} = {value}", fix)
    layers = config.get("num_hidden_layers")
    if isinstance(layers, int) and layers > _MOST_LAYERS:
        raise ModelConfigError(f"config.json of {of} claims num_hidden_layers = {layers}", fix)
