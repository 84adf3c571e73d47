"""The JSON Schema of a profile, for editors and CI."""

import inspect
from dataclasses import fields
from typing import Any

from hmactl.sources.profile_model import ConnectorForm, ProfileModel
from hmactl.sources.profile_shape import (
    Given,
    Items,
    Names,
    Plain,
    Section,
    Shape,
    further_of,
    keys_of,
    required_of,
)

_Schema = dict[str, Any]


def profile_schema() -> _Schema:
    """The JSON Schema (draft 2020-12) of a profile document."""
    sections: dict[str, _Schema] = {}
    profile = _section(ProfileModel, sections)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hmactl profile",
        "$defs": sections,
        **profile,
    }


def _section(model: type, sections: dict[str, _Schema]) -> _Schema:
    defaults = {one.name: one.default for one in fields(model)}
    properties: dict[str, _Schema] = {}
    for name, key in keys_of(model).items():
        properties[name] = {"description": key.description, **_value(key.shape, sections)}
        if isinstance(defaults[name], str | bool):
            properties[name]["default"] = defaults[name]
        if key.examples:
            properties[name]["examples"] = list(key.examples)
    schema: _Schema = {
        "description": inspect.getdoc(model),
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if (further := further_of(model)) is not None:
        schema["propertyNames"] = {"pattern": further[1].names}
        schema["additionalProperties"] = _value(further[1].shape, sections)
    if required := required_of(model):
        schema["required"] = [name for name in properties if name in required]
    return schema


def _value(shape: Shape | None, sections: dict[str, _Schema]) -> _Schema:
    match shape:
        case None:
            return {}
        case Plain():
            return shape.schema
        case Given():
            return _value(shape.shape, sections)
        case Items():
            return {"type": "array", "items": _value(shape.shape, sections)}
        case Names():
            return {"type": "object", **_names(shape, sections)}
        case Section():
            return _reference(shape.model, sections)
        case ConnectorForm():
            return {
                "oneOf": [_value(shape.name, sections), _value(shape.mapping, sections)],
            }
    raise TypeError(f"{shape!r} has no schema")


def _names(shape: Names, sections: dict[str, _Schema]) -> _Schema:
    schema: _Schema = {"additionalProperties": True}
    if shape.names is not None:
        values = _value(shape.shape, sections)
        schema = {"patternProperties": {shape.names: values}, "additionalProperties": False}
    if shape.other_names is not None:
        schema["propertyNames"] = {"not": {"pattern": shape.other_names}}
    return schema


def _reference(model: type, sections: dict[str, _Schema]) -> _Schema:
    if model.__name__ not in sections:
        sections[model.__name__] = {}  # a connector's children are connectors
        sections[model.__name__] = _section(model, sections)
    return {"$ref": f"#/$defs/{model.__name__}"}
