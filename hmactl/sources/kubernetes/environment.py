"""The variables of a container, as the kubelet makes them.

Source: makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go of Kubernetes: those of ``envFrom``
first, then ``env`` in its order, where ``$(NAME)`` sees what stands above it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.finding import Finding
from hmactl.sources.given import Given
from hmactl.sources.kubernetes import complaints
from hmactl.sources.kubernetes.expansion import expanded, filled
from hmactl.sources.kubernetes.objects import Object, Objects, items_at, text_at
from hmactl.sources.node import Node
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.runs import pointed
from hmactl.sources.shell.value import Piece, Value, from_word, to_word
from hmactl.sources.yaml_word import yaml_word

_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
# What the kubelet adds for the services of the namespace.
_OF_A_SERVICE = re.compile(r"KUBERNETES_.*|.*_SERVICE_(HOST|PORT)(_\w+)?|.*_PORT(_\d+_\w+)?")
# Kinds whose controllers add no variables that a manifest could refer to.
_PLAIN = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod", "CronJob"})
# What a controller adds to the containers of its objects.
_ADDED = {
    "Job": ("JOB_COMPLETION_INDEX",),
    "LeaderWorkerSet": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"),
}


@dataclass(slots=True)
class Environment:
    """Reads one container's variables; ``run`` first, then ``text`` for words of its command."""

    objects: Objects
    owner: Object
    container: Node
    given: Given
    variables: dict[str, Variable] = field(default_factory=dict)
    unknown: list[Unknown] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    later: frozenset[str] = frozenset()

    def run(self) -> None:
        """Read ``envFrom`` and ``env``."""
        origin = self.origin(self.container)
        for name in _ADDED.get(self.owner.kind, ()):
            added = Word(f"(of the {self.owner.kind})", origin, known=False)
            self.variables[name] = Variable(name, self.given.variables.get(name, added), origin)
        for node in items_at(self.container, "envFrom"):
            for variable in self.from_object(node):
                self.variables[variable.name] = variable
        nodes = items_at(self.container, "env")
        names = [text_at(node, "name") or "" for node in nodes]
        for index, node in enumerate(nodes):
            self.later = frozenset(names[index + 1 :]) - {""}
            if names[index]:
                self.take(names[index], node)
        self.later = frozenset()

    def take(self, name: str, node: Node) -> None:
        """One entry of ``env``."""
        origin = self.origin(node.at(("name",)) or node)
        value, source = node.at(("value",)), node.at(("valueFrom",))
        word: Word | None = None
        if value is not None and not value.children and value.value not in {None, ""}:
            self.complain_of_kind(value, name)
            word = self.word(value)
        elif source is not None and source.children:
            word = self.from_source(source)
        else:
            word = Word("", self.origin(value or node))
        if word is not None:
            if not word.known and name in self.given.variables:
                word = self.given.variables[name]
            self.variables[name] = Variable(name, word, origin)

    def complain_of_kind(self, node: Node, where: str) -> None:
        """A number where the API server, which gets the value as it stands here, wants text."""
        if not isinstance(node.value, str | None) and node.sound:
            self.findings.append(complaints.not_text(node.written, self.origin(node), where))

    def word(self, node: Node, *, script: bool = False) -> Word:
        """A scalar with ``$(NAME)`` replaced. In a ``script`` the rest is left to the shell."""
        raw = yaml_word(self.objects.source, node)

        def resolve(name: str, written: Piece) -> Value:
            return self.resolve(name, written, script=script)

        value = expanded(from_word(raw), resolve)
        if not script:
            value = filled(value, self.placeholder)
        word = to_word(value, raw.where())
        return replace(word, origin=raw.origin, several=False)

    def resolve(self, name: str, written: Piece, *, script: bool) -> Value:
        """What ``$(NAME)`` stands for; as written where there is no such variable."""
        variable = self.variables.get(name)
        if variable is not None:
            value = from_word(variable.value)
            if variable.value.known:
                return value
            needs = variable.value.needs or (name,)
        elif not _NAME.fullmatch(name):
            return (written,)
        elif self.unknown or not self.is_known_to_be_missing(name):
            needs = (name,)
        else:
            if not script and name.upper() == name:
                above = name in self.later
                self.findings.append(complaints.undefined(name, written.places.at(0), above))
            return (written,)
        # The shell takes it for the output of a command, which is not known either.
        if script:
            return (written,)
        return (replace(written, places=pointed(written.places), known=False, needs=needs),)

    def is_known_to_be_missing(self, name: str) -> bool:
        """Whether nothing but the manifest could have set that variable."""
        return self.owner.kind in _PLAIN and _OF_A_SERVICE.fullmatch(name) is None

    def placeholder(self, name: str, written: Piece) -> Value:
        """What is replaced before the manifest is applied."""
        word = self.given.variables.get(name)
        if word is not None:
            return from_word(word)
        if name in self.variables and written.text.startswith("$"):
            self.findings.append(complaints.not_expanded(name, written.places.at(0)))
        needs = (name,) if name.isidentifier() else ()
        return (replace(written, places=pointed(written.places), known=False, needs=needs),)

    def from_source(self, source: Node) -> Word | None:
        """``valueFrom``; None where the variable is left out.

        A value that is not known needs no variable of where hmactl runs: there is one in any case.
        """
        for kind, ref in source.children.items():
            origin = self.origin(ref)
            if kind == "configMapKeyRef":
                return self.from_config_map(ref)
            if kind == "secretKeyRef":
                what = f"{text_at(ref, 'name')}/{text_at(ref, 'key')}"
            elif kind == "resourceFieldRef":
                what = text_at(ref, "resource") or ""
            else:
                what = text_at(ref, "fieldPath") or text_at(ref, "key") or ""
            return Word(f"{kind} {what}".strip(), origin, known=False)
        return Word("valueFrom", self.origin(source), known=False)

    def from_config_map(self, ref: Node) -> Word | None:
        map_name, key = text_at(ref, "name") or "", text_at(ref, "key") or ""
        found = self.objects.find("ConfigMap", map_name, self.owner.namespace)
        unknown = Word(f"configMapKeyRef {map_name}/{key}", self.origin(ref), known=False)
        if found is None:
            return unknown
        value = found.root.at(("data", key))
        if value is not None:
            return unknown if value.children else yaml_word(self.objects.source, value)
        optional = ref.at(("optional",))
        if optional is not None and optional.value is True:
            return None
        if found.root.at(("binaryData", key)) is None:
            self.findings.append(complaints.no_such_key(key, map_name, self.origin(ref)))
        return unknown

    def from_object(self, node: Node) -> Iterator[Variable]:
        """One entry of ``envFrom``: all keys of a ConfigMap or a Secret."""
        prefix = text_at(node, "prefix") or ""
        for kind, key, parts in (
            ("ConfigMap", "configMapRef", ("data",)),
            ("Secret", "secretRef", ("data", "stringData")),
        ):
            ref = node.at((key,))
            name = None if ref is None else text_at(ref, "name")
            if ref is None or name is None:
                continue
            found = self.objects.find(kind, name, self.owner.namespace)
            if found is None:
                self.unknown.append(Unknown(Area.ENV, None, f"{key} {name}", self.origin(ref)))
                continue
            for data in (found.root.at((each,)) for each in parts):
                for inner, value in data.children.items() if data is not None else ():
                    word = yaml_word(self.objects.source, value)
                    origin = Origin(self.objects.source, *data.keys[inner]) if data else word.origin
                    variable = f"{prefix}{inner}"
                    if kind == "Secret":
                        # Its text is nobody's business, not even this program's.
                        word = Word(f"{key} {name}/{inner}", origin, known=False)
                    yield Variable(variable, word, origin)

    def origin(self, node: Node) -> Origin:
        """Where a node stands."""
        return Origin(self.objects.source, *node.position)
