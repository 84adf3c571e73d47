"""vLLM's own configuration file (``vllm serve --config FILE``): options by their long names."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.files import TextFile
from hmactl.deployment.places import Places, Stretch
from hmactl.deployment.setting import Json, Origin, Setting
from hmactl.finding import Finding
from hmactl.sources.json_places import json_places
from hmactl.sources.node import Node, Route
from hmactl.sources.option_name import option_name
from hmactl.sources.yaml_nodes import read_documents

_MODEL = frozenset({"model", "model-tag"})


@dataclass(frozen=True, slots=True)
class VllmConfig:
    """``model`` is None where the file names none; ``findings`` are about the YAML itself."""

    model: Setting | None
    settings: tuple[Setting, ...]
    findings: tuple[Finding, ...]


def read_vllm_config(file: TextFile) -> VllmConfig:
    """The options of a configuration file, each at its key's place.

    What vLLM makes of values: true is the bare option, false its ``--no-`` form, an empty list
    nothing, a mapping JSON.
    """
    documents = read_documents(file.places.source, file.text)
    root = documents[0].root if documents else None
    findings = tuple(
        replace(f, origin=file.place(f.origin.line or 1, f.origin.column or 1))
        for document in documents
        for f in document.findings
    )
    if root is None or not isinstance(root.value, dict):
        return VllmConfig(None, (), findings)
    settings = [
        Setting(
            option_name(key),
            _value(value),
            file.place(*root.key_position((key,))),
            tuple(_places(file, root, (key,))),
        )
        for key, value in root.value.items()
        if value != []
    ]
    model = next((s for s in settings if s.name in _MODEL), None)
    return VllmConfig(
        None if model is None else Setting("model", model.value, model.origin),
        tuple(s for s in settings if s.name not in _MODEL),
        findings,
    )


def _places(file: TextFile, root: Node, route: Route) -> Iterator[tuple[str, Origin]]:
    """The keys of a connector, and its name."""
    if option_name(str(route[0])) != KV_TRANSFER_CONFIG or (node := root.at(route)) is None:
        return
    if isinstance(node.value, str):
        found = (_in_source(file, stretch) for stretch in node.stretches)
        yield from json_places(node.value, Places(file.places.source, tuple(found)))
    for key, child in node.children.items():
        if isinstance(key, str):
            yield key, file.place(*node.keys[key])
            if key == "kv_connector":
                yield str(child.value), file.place(*child.position)
        yield from _places(file, root, (*route, key))


def _in_source(file: TextFile, stretch: Stretch) -> Stretch:
    place = file.place(stretch.line, stretch.column)
    return stretch._replace(line=place.line or 1, column=place.column or 1)


def _value(value: Json) -> Json:
    # vLLM writes a null as the word None, which its parser knows for options that may have none.
    return "None" if value is None else value
