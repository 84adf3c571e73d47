"""Manifests for Kubernetes: a Deployment, its Service, and a ConfigMap of its files."""

import re
from collections.abc import Iterator
from typing import Any

from hmactl.launch.endpoint import Endpoint
from hmactl.launch.render.model import (
    CarriedPath,
    OutputFile,
    Program,
    Reference,
    Rendered,
    Text,
    text_of,
)
from hmactl.launch.render.words import health_command, references_of
from hmactl.launch.render.yaml_text import Block, Quoted, yaml_text

# An hour for weights that have to be downloaded first.
_PERIOD, _START_PERIODS = 10, 360
_STOP_SECONDS = 120
_NO_KEY = re.compile(r"[^A-Za-z0-9._-]")
_SHM = "/dev/shm"  # noqa: S108
_OF_THE_ENGINE = frozenset({"huggingface", "lmcache-disk"})
_PRODUCT = "nvidia.com/gpu.product"


def render_kubernetes(rendered: Rendered) -> tuple[OutputFile, ...]:
    """One stream of manifests, without a namespace, as `kubectl apply` takes it.

    The LMCache server is a sidecar of the engine: they exchange handles of GPU memory, which only
    count on one node, and find each other at localhost.
    """
    documents = [_deployment(rendered)]
    if (service := _service(rendered)) is not None:
        documents.append(service)
    data = {
        _key(rendered, path): Block(path.text) for path in rendered.paths if path.text is not None
    }
    if data:
        config_map = _object(rendered, "v1", "ConfigMap", f"{rendered.name}-files")
        documents.insert(0, {**config_map, "data": data})
    return (OutputFile(f"{rendered.name}.yaml", yaml_text(rendered, documents)),)


def kubernetes_notes(rendered: Rendered) -> Iterator[str]:
    """What the cluster has to have before the pod can start."""
    names = [name for name in rendered.references if name not in set(_fields(rendered))]
    files = [path for path in rendered.paths if path.secret]
    if names or files:
        given = [f"--from-literal={name}=..." for name in names]
        given += [f"--from-file={_key(rendered, path)}=..." for path in files]
        yield (
            "not written, and needed first: kubectl create secret generic "
            f"{_secret(rendered)} {' '.join(given)}"
        )
    for path in rendered.paths:
        if path.text is None and not path.secret:
            yield f"{path.path} is expected in a PersistentVolumeClaim {_claim(rendered, path)}"
    if rendered.cache is not None:
        yield (
            "what is downloaded is lost with the pod: a PersistentVolumeClaim in place of the "
            "volume `huggingface` keeps it"
        )
    if rendered.machine.gpu is not None and rendered.machine.gpus:
        yield (
            f"the pod waits for a node with the label {_PRODUCT}={_product(rendered)}, which "
            "NVIDIA's GPU feature discovery sets"
        )
    if rendered.server is not None and rendered.machine.gpus:
        yield (
            "Kubernetes gives a GPU to one container only: the sidecar sees it by "
            "NVIDIA_VISIBLE_DEVICES=all, which needs NVIDIA's container runtime as the default, or "
            "a `runtimeClassName`"
        )
    if any(name == "CUDA_VISIBLE_DEVICES" for name, _value in rendered.engine.environment):
        yield "CUDA_VISIBLE_DEVICES counts the GPUs that the pod gets, not those of the node"


def _object(rendered: Rendered, version: str, kind: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": _labels(rendered)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _labels(rendered: Rendered) -> dict[str, str]:
    return {"app.kubernetes.io/name": rendered.name}


def _deployment(rendered: Rendered) -> dict[str, Any]:
    pod: dict[str, Any] = {
        # A Service named vllm would set VLLM_PORT, which vLLM takes for its own.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _STOP_SECONDS,
    }
    if rendered.machine.gpu is not None and rendered.machine.gpus:
        pod["nodeSelector"] = {_PRODUCT: Quoted(_product(rendered))}
    if rendered.server_alias is not None:
        pod["hostAliases"] = [{"ip": "127.0.0.1", "hostnames": [Quoted(rendered.server_alias)]}]
    if rendered.server is not None:
        pod["initContainers"] = [_server(rendered, rendered.server)]
    pod["containers"] = [_engine(rendered)]
    pod["volumes"] = [volume for volume, _mount in _volumes(rendered)]
    spec = {
        "replicas": 1,
        # A second pod would need GPUs of its own.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": _labels(rendered)},
        "template": {"metadata": {"labels": _labels(rendered)}, "spec": pod},
    }
    return {**_object(rendered, "apps/v1", "Deployment", rendered.name), "spec": spec}


def _service(rendered: Rendered) -> dict[str, Any] | None:
    endpoint = rendered.endpoint
    if endpoint is None or endpoint.loopback:
        return None
    spec = {
        "selector": _labels(rendered),
        "ports": [{"name": "http", "port": endpoint.port, "targetPort": endpoint.port}],
    }
    return {**_object(rendered, "v1", "Service", rendered.name), "spec": spec}


def _engine(rendered: Rendered) -> dict[str, Any]:
    machine, endpoint = rendered.machine, rendered.endpoint
    container = _container(rendered, rendered.engine)
    resources = _resources(machine.engine_memory, machine.memory_limit)
    if machine.gpus:
        resources.setdefault("limits", {})["nvidia.com/gpu"] = Quoted(machine.gpus)
    if resources:
        container["resources"] = resources
    if endpoint is not None:
        container["ports"] = [{"name": "http", "containerPort": endpoint.port}]
        probe = _probe(endpoint)
        container["startupProbe"] = _started(probe)
        container["readinessProbe"] = {**probe, "periodSeconds": _PERIOD, "timeoutSeconds": 10}
        container["livenessProbe"] = {
            **probe,
            "periodSeconds": _PERIOD,
            "timeoutSeconds": 10,
            "failureThreshold": 6,
        }
    return container


def _server(rendered: Rendered, server: Program) -> dict[str, Any]:
    """A sidecar: it starts before the engine, and ends behind it."""
    container = {**_container(rendered, server), "restartPolicy": "Always"}
    if rendered.machine.gpus:
        container.setdefault("env", []).append(
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": Quoted("all")}
        )
    if resources := _resources(rendered.machine.server_memory, rendered.machine.server_limit):
        container["resources"] = resources
    if rendered.server_endpoint is not None:
        command = {"exec": {"command": _words(health_command(rendered.server_endpoint))}}
        container["startupProbe"] = _started(command)
    return container


def _container(rendered: Rendered, program: Program) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": program.name,
        "image": Quoted(rendered.image or ""),
        "command": [_text((word,)) for word in program.command],
        "args": [_text(argument) for argument in program.arguments],
    }
    if rendered.directory is not None:
        container["workingDir"] = Quoted(rendered.directory)
    if environment := list(_environment(rendered, program)):
        container["env"] = environment
    others = _OF_THE_ENGINE if program is not rendered.engine else frozenset()
    mounts = [mount for _volume, mount in _volumes(rendered)]
    container["volumeMounts"] = [mount for mount in mounts if mount["name"] not in others]
    return container


def _environment(rendered: Rendered, program: Program) -> Iterator[dict[str, Any]]:
    """What arguments refer to stands first, and is no more than Kubernetes needs to fill it in."""
    own = {name for name, _value in program.environment}
    for reference in references_of(program):
        if reference.name not in own:
            yield {"name": reference.name, "valueFrom": _supplied(rendered, reference)}
    for name, value in program.environment:
        whole = value[0] if len(value) == 1 else None
        if isinstance(whole, Reference):
            yield {"name": name, "valueFrom": _supplied(rendered, whole)}
        else:
            yield {"name": name, "value": _text(value)}


def _supplied(rendered: Rendered, reference: Reference) -> dict[str, Any]:
    if reference.field is not None:
        return {"fieldRef": {"fieldPath": reference.field}}
    return {"secretKeyRef": {"name": _secret(rendered), "key": reference.name}}


def _fields(rendered: Rendered) -> Iterator[str]:
    for program in rendered.programs:
        yield from (r.name for r in references_of(program) if r.field is not None)


def _resources(memory: int | None, limit: int | None) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    if limit is not None:
        resources["limits"] = {"memory": _size(limit)}
    if memory is not None and (limit is None or memory <= limit):
        resources["requests"] = {"memory": _size(memory)}
    return resources


def _probe(endpoint: Endpoint) -> dict[str, Any]:
    """The kubelet asks from outside of the pod, and takes any certificate."""
    if endpoint.loopback:
        return {"exec": {"command": _words(health_command(endpoint))}}
    scheme = {} if endpoint.paths else {"scheme": "HTTPS"}
    return {"httpGet": {"path": "/health", "port": endpoint.port, **scheme}}


def _started(probe: dict[str, Any]) -> dict[str, Any]:
    periods = {"periodSeconds": _PERIOD, "timeoutSeconds": 10, "failureThreshold": _START_PERIODS}
    return {**probe, **periods}


def _volumes(rendered: Rendered) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The volumes, each with its mount."""
    memory: dict[str, Any] = {"medium": "Memory"}
    if rendered.machine.shm is not None:
        memory["sizeLimit"] = _size(rendered.machine.shm)
    yield _volume("shm", {"emptyDir": memory}, {"mountPath": _SHM})
    if rendered.cache is not None:
        yield _volume("huggingface", {"emptyDir": {}}, {"mountPath": Quoted(rendered.cache)})
    if rendered.disk is not None:
        yield _volume("lmcache-disk", {"emptyDir": {}}, {"mountPath": Quoted(rendered.disk)})
    for number, path in enumerate(rendered.paths):
        at = {"mountPath": Quoted(path.path)}
        if path.text is None and not path.secret:
            claim = {"persistentVolumeClaim": {"claimName": _claim(rendered, path)}}
            yield _volume(f"path-{number}", claim, at)
            continue
        item = {"subPath": Quoted(_key(rendered, path)), "readOnly": True}
        held: dict[str, Any] = {"configMap": {"name": f"{rendered.name}-files"}}
        if path.secret:
            held = {"secret": {"secretName": _secret(rendered)}}
        yield _volume(f"path-{number}", held, {**at, **item})


def _volume(
    name: str, source: dict[str, Any], mount: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"name": name, **source}, {"name": name, **mount}


def _key(rendered: Rendered, path: CarriedPath) -> str:
    """The path's key in a ConfigMap, which no two have in common."""
    number = rendered.paths.index(path)
    name = _NO_KEY.sub("-", path.base)
    return (
        name
        if all(other.base != path.base for other in rendered.paths[:number])
        else (f"{number}-{name}")
    )


def _claim(rendered: Rendered, path: CarriedPath) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", path.base.lower()).strip("-") or "files"
    return f"{rendered.name}-{name}"


def _secret(rendered: Rendered) -> str:
    return f"{rendered.name}-secrets"


def _product(rendered: Rendered) -> str:
    return (rendered.machine.gpu or "").replace(" ", "-")


def _size(size: int) -> Quoted:
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size % factor == 0:
            return Quoted(f"{size // factor}{unit}")
    return Quoted(size)


def _words(words: list[str]) -> list[Quoted]:
    return [_text((word,)) for word in words]


def _text(text: Text) -> Quoted:
    return Quoted(text_of(text, _escaped, lambda reference: f"$({reference.name})"))


def _escaped(text: str) -> str:
    return text.replace("$", "$$")
