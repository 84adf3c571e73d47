"""llm-d's modelservice chart: the pods that it makes of ``decode`` and ``prefill``.

Source: charts/llm-d-modelservice/templates/_helpers.tpl and values.yaml of
llm-d-incubation/llm-d-modelservice, commit 024c0f2.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.sources.helm.go import integer_of, is_true, text_of
from hmactl.sources.kubernetes.build import mapping, scalar, sequence
from hmactl.sources.kubernetes.machine import GPUS
from hmactl.sources.kubernetes.objects import items_at, text_at
from hmactl.sources.node import Node, Position

_ROLES = ("decode", "prefill")
_MOUNT = "/model-cache"
_SERVICE_PORT, _TARGET_PORT = "8000", "8200"
_NAME = ("{{ .Values.modelArtifacts.name }}", "{{.Values.modelArtifacts.name}}")


def roles_of(values: Node) -> list[str]:
    """The roles for which the chart makes pods."""
    found = []
    for role in _ROLES:
        create, replicas = values.at((role, "create")), values.at((role, "replicas"))
        idle = replicas is not None and replicas.value == 0
        wanted = create is None or create.value is not False
        if items_at(values, role, "containers") and wanted and not idle:
            found.append(role)
    return found


def render(values: Node, role: str) -> Node:
    """The pods of a role, as a Deployment."""
    part = values.at((role,)) or values
    several = is_true(values.at(("multinode",)))
    containers = [
        _Container(values, role, part, node).render()
        for node in items_at(part, "containers")
        if isinstance(node.value, dict)
    ]
    spec = mapping(
        {
            "containers": sequence(containers, part),
            "volumes": part.at(("volumes",)),
            "nodeSelector": part.at(("nodeSelector",)),
            "hostIPC": part.at(("hostIPC",)) if several else None,
            "affinity": _affinity(part),
        },
        part,
    )
    return mapping(
        {
            "kind": scalar("LeaderWorkerSet" if several else "Deployment", part),
            "metadata": mapping({"name": scalar(role, part)}, part),
            "spec": spec,
        },
        part,
    )


@dataclass(frozen=True, slots=True)
class _Container:
    values: Node
    role: str
    part: Node
    node: Node

    def render(self) -> Node:
        """The container as the chart writes it."""
        node = self.node
        children = {str(key): child for key, child in node.children.items()}
        children.setdefault("name", scalar("vllm", node))
        mode = text_at(node, "modelCommand") or "custom"
        if mode in {"vllmServe", "imageDefault"}:
            children.pop("command", None)
            if mode == "vllmServe":
                command = (scalar("vllm", node), scalar("serve", node))
                children["command"] = sequence(command, node)
            words = [*self.arguments(positional=mode == "vllmServe"), *items_at(node, "args")]
            children["args"] = sequence(words, node)
        children["env"] = sequence([*items_at(node, "env"), *self.environment()], node)
        if (resources := self.resources()) is not None:
            children["resources"] = resources
        mounts = [*items_at(node, "volumeMounts")]
        if is_true(switch := node.at(("mountModelVolume",))) and switch is not None:
            path = scalar(self.mount_path(), switch)
            mounts.append(
                mapping({"name": scalar("model-storage", switch), "mountPath": path}, switch)
            )
        children["volumeMounts"] = sequence(mounts, node)
        return mapping(children, node)

    def arguments(self, *, positional: bool) -> Iterator[Node]:
        """What the chart puts in front of the container's own arguments."""
        model = self.model()
        if not positional:
            yield scalar("--model", model)
        yield model
        yield from (scalar(word, self.node) for word in ("--port", self.port()))
        for option, count, at in (
            ("--tensor-parallel-size", *self.parallel("tensor")),
            ("--data-parallel-size", *self.data()),
            ("--data-parallel-size-local", *self.data_local()),
        ):
            if count > 1:
                yield scalar(option, at)
                yield scalar(str(count), at)
        name = self.values.at(("modelArtifacts", "name"))
        if name is not None:
            yield scalar("--served-model-name", name)
            yield scalar(text_of(name), name)

    def model(self) -> Node:
        """The model that ``modelArtifacts.uri`` comes to."""
        artifacts = self.values.at(("modelArtifacts",)) or self.values
        name, uri = artifacts.at(("name",)), artifacts.at(("uri",))
        if uri is None:
            return name or scalar("{{ .Values.modelArtifacts.name }}", artifacts)
        text = text_of(uri)
        for reference in _NAME:
            text = text if name is None else text.replace(reference, text_of(name))
        protocol, found, path = text.partition("://")
        parts = path.split("/")
        if protocol == "pvc":
            return scalar(f"{self.mount_path()}/{'/'.join(parts[1:])}", uri)
        if protocol == "pvc+hf":
            return scalar("/".join(parts[-2:]), uri)
        if protocol == "hf" and text == text_of(uri):
            # The model stands in the file as it is, behind the protocol.
            line, column = uri.stretches[0][1:3] if uri.stretches else uri.position
            return Node(path, Position(line, column + len("hf://")), path)
        return scalar(path if found else text, uri)

    def mount_path(self) -> str:
        return text_at(self.values, "modelArtifacts", "mountPath") or _MOUNT

    def port(self) -> str:
        proxy = self.values.at(("routing", "proxy", "enabled"))
        own = self.role == "prefill" or (proxy is not None and proxy.value is False)
        route = ("servicePort",) if own else ("proxy", "targetPort")
        node = self.values.at(("routing", *route))
        return text_of(node) if node is not None else (_SERVICE_PORT if own else _TARGET_PORT)

    def parallel(self, key: str) -> tuple[int, Node]:
        """A number of ``parallelism`` with its place; 0 where there is none."""
        node = self.part.at(("parallelism", key))
        return (0, self.node) if node is None else (max(integer_of(node), 0), node)

    def data(self) -> tuple[int, Node]:
        (data, at), (local, local_at) = self.parallel("data"), self.parallel("dataLocal")
        workers = self.parallel("workers")[0]
        return (data, at) if data else (local * (workers or 1), local_at)

    def data_local(self) -> tuple[int, Node]:
        (data, at), (local, local_at) = self.parallel("data"), self.parallel("dataLocal")
        workers = self.parallel("workers")[0]
        return (local, local_at) if local else (data // (workers or 1), at)

    def environment(self) -> Iterator[Node]:
        """What the chart puts behind the container's own variables."""
        tensor = self.parallel("tensor")[0] or 1
        sizes = {
            "DP_SIZE": self.data()[0] or 1,
            "TP_SIZE": tensor,
            "DP_SIZE_LOCAL": self.data_local()[0] or 1,
        }
        for name, size in sizes.items():
            yield _variable(name, str(size), self.node)
        uri = text_at(self.values, "modelArtifacts", "uri") or ""
        if uri.startswith("hf://") and is_true(self.node.at(("mountModelVolume",))):
            yield _variable("HF_HOME", self.mount_path(), self.node)
        secret = self.values.at(("modelArtifacts", "authSecretName"))
        if secret is not None and is_true(secret):
            ref = mapping({"name": secret, "key": scalar("HF_TOKEN", secret)}, secret)
            source = mapping({"secretKeyRef": ref}, secret)
            yield mapping({"name": scalar("HF_TOKEN", secret), "valueFrom": source}, secret)

    def resources(self) -> Node | None:
        """The container's own, with as many GPUs as the parallelism needs if it names none."""
        node, own = self.node, self.node.at(("resources",))
        kind = text_at(self.values, "accelerator", "type") or "nvidia"
        shared = is_true(self.values.at(("accelerator", "dra")))
        if kind != "nvidia" or shared or (own is not None and own.at(("limits", GPUS))):
            return own
        count = (self.data_local()[0] or 1) * (self.parallel("tensor")[0] or 1)
        limits = None if own is None else own.at(("limits",))
        children = {} if limits is None else {str(k): c for k, c in limits.children.items()}
        return mapping(
            {"limits": mapping({**children, GPUS: scalar(str(count), node)}, node)}, node
        )


def _variable(name: str, value: str, at: Node) -> Node:
    return mapping({"name": scalar(name, at), "value": scalar(value, at)}, at)


def _affinity(part: Node) -> Node | None:
    label, values = (
        part.at(("acceleratorTypes", "labelKey")),
        part.at(("acceleratorTypes", "labelValues")),
    )
    if label is None or values is None or not is_true(label):
        return None
    expression = {"key": label, "operator": scalar("In", label), "values": values}
    term = mapping({"matchExpressions": sequence([mapping(expression, label)], label)}, label)
    required = mapping({"nodeSelectorTerms": sequence([term], label)}, label)
    inner = mapping({"requiredDuringSchedulingIgnoredDuringExecution": required}, label)
    return mapping({"nodeAffinity": inner}, label)
