"""A document as lines of text, for the expected readings in tests/cases/sources."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields

from hmactl.deployment.deployment import Deployment, LMCacheServer, Target
from hmactl.deployment.setting import Origin
from hmactl.sources.document import Document


def render(documents: Sequence[Document]) -> str:
    """Every deployment with every setting and its place, then the findings of reading."""
    return "".join(f"{line}\n" for document in documents for line in _lines(document))


def _lines(document: Document) -> Iterator[str]:
    deployment = document.deployment
    if deployment is None:
        yield "no deployment"
    else:
        yield from _deployment(deployment)
        yield from _server(deployment.lmcache_server)
        yield from _surroundings(deployment)
    for finding in document.findings:
        yield f"  {finding.severity} {finding.id} {_at(finding.origin)} {finding.message}"


def _deployment(deployment: Deployment) -> Iterator[str]:
    yield f"deployment {deployment.name} ({deployment.form})"
    yield f"  model {json.dumps(deployment.model.value)} {_at(deployment.model.origin)}"
    for setting in deployment.vllm:
        yield f"  --{setting.name} {json.dumps(setting.value)} {_at(setting.origin)}"
    if deployment.hma.value != "auto":
        yield f"  hma {deployment.hma} {_at(deployment.hma_origin)}"
    for setting in deployment.lmcache:
        yield f"  lmcache {setting.name} {json.dumps(setting.value)} {_at(setting.origin)}"
    for setting in deployment.env:
        yield f"  {setting.name}={json.dumps(setting.value)} {_at(setting.origin)}"


def _server(server: LMCacheServer | None) -> Iterator[str]:
    if server is not None:
        yield f"  lmcache server {_at(server.origin)}"
        for setting in server.options:
            yield f"    --{setting.name} {json.dumps(setting.value)} {_at(setting.origin)}"


def _surroundings(deployment: Deployment) -> Iterator[str]:
    for file in deployment.files:
        yield f"  file {file.path} {_at(file.place(1, 1))}"
    for field in fields(Target):
        value = getattr(deployment.target, field.name)
        if value is not None and not isinstance(value, Origin):
            yield f"  target {field.name} {value}"
    for unknown in deployment.unknown:
        needs = f" needs {' '.join(unknown.needs)}" if unknown.needs else ""
        name = unknown.name or "*"
        yield f"  unknown {unknown.area} {name}: {unknown.text}{needs} {_at(unknown.origin)}"


def _at(origin: Origin) -> str:
    return f"@{origin.line}:{origin.column}" if origin.line is not None else f"@{origin.source}"
