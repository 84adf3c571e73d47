"""KV-relevant config facts of well-known models, for when no hub is within reach."""

import difflib
from dataclasses import dataclass
from functools import cache
from typing import Any

from hmactl.catalogue.data_file import load

_INDEX = "index.json"
_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model's config.json as far as its KV cache and weights depend on it.

    ``as_of`` is the date on which the facts were taken (ISO), ``source`` where from. ``filled`` are
    fields of ``config`` that are no facts: the source left them out, they are not about the KV
    cache, and the engine builds no model without them.
    """

    model: str
    config: dict[str, Any]
    source: str
    as_of: str
    filled: tuple[str, ...] = ()


def find_model(model: str) -> ModelFacts | None:
    """The facts of a model by its hub id, in any case; None if the catalogue has none."""
    found = _index().get(model.lower())
    if found is None:
        return None
    name, file = found
    data = load(f"models/{file}")
    filled = data.get("filled", {})
    config = _with(data["config"], filled)
    return ModelFacts(name, config, data["source"], data["as_of"], tuple(_names(filled)))


def known_models() -> tuple[str, ...]:
    """The hub ids in the catalogue."""
    return tuple(name for name, _file in _index().values())


def similar_models(model: str) -> tuple[str, ...]:
    """Hub ids in the catalogue that look like this one, nearest first."""
    close = difflib.get_close_matches(model.lower(), list(_index()), n=_SIMILAR, cutoff=0.6)
    return tuple(_index()[key][0] for key in close)


@cache
def _index() -> dict[str, tuple[str, str]]:
    """By hub id in small letters: the id as it is written, and the file with its facts."""
    index: dict[str, tuple[str, str]] = load(f"models/{_INDEX}")
    return index


def _with(config: dict[str, Any], filled: dict[str, Any]) -> dict[str, Any]:
    """What is missing besides what is there, also inside nested objects."""
    whole = dict(config)
    for name, value in filled.items():
        inside = name in whole and isinstance(value, dict)
        whole[name] = _with(whole[name], value) if inside else whole.get(name, value)
    return whole


def _names(filled: dict[str, Any]) -> list[str]:
    """Dotted names."""
    names = []
    for name, value in filled.items():
        inner = _names(value) if isinstance(value, dict) and value else []
        names += [f"{name}.{part}" for part in inner] or [name]
    return names
