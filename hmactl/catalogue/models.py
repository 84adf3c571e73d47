"""KV-relevant config facts of well-known models, for when no hub is within reach."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model's config.json as far as its KV cache and weights depend on it.

    ``as_of`` is the date on which the facts were taken (ISO), ``source`` where from.
    """

    model: str
    config: dict[str, Any]
    source: str
    as_of: str


def find_model(model: str) -> ModelFacts | None:
    """The facts of a model by its hub id, in any case; None if the catalogue has none."""
    return _by_id().get(model.lower())


def known_models() -> tuple[str, ...]:
    """The hub ids in the catalogue."""
    return tuple(facts.model for facts in _by_id().values())


@cache
def _by_id() -> dict[str, ModelFacts]:
    facts = {}
    for entry in files(__package__).joinpath("data/models").iterdir():
        if not entry.name.endswith(".json"):
            continue
        data = json.loads(entry.read_text("utf-8"))
        for model in data["models"]:
            facts[model.lower()] = ModelFacts(model, data["config"], data["source"], data["as_of"])
    return facts
