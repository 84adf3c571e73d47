"""A stream of Kubernetes manifests in, the containers that they start out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hmactl.deployment.form import Form
from hmactl.finding import Finding
from hmactl.sources.given import Given
from hmactl.sources.kubernetes.container import process_of
from hmactl.sources.kubernetes.objects import Objects, objects_of, text_at
from hmactl.sources.kubernetes.pods import Pod, containers_of, pods_of
from hmactl.sources.kubernetes.rewritten import with_containers
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.process.program import find_command
from hmactl.sources.process.shells import behind_shells
from hmactl.sources.yaml_nodes import read_documents


def read_kubernetes(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """The containers of every pod in a stream of manifests, of whatever kind its object is."""
    documents = read_documents(source, text, of_others=True)
    objects = Objects(source, tuple(objects_of(documents)))
    findings = tuple(f for document in documents for f in document.findings)
    return carrying(findings, processes_of(objects, given, Form.KUBERNETES))


def processes_of(objects: Objects, given: Given, form: Form) -> list[Process]:
    """The containers of every pod of the objects; servers under names that tell them apart."""
    return _named(
        [
            _Found(pod, container, process_of(pod, container, objects, given, form))
            for each in with_containers(objects)
            for pod in pods_of(each)
            for container in containers_of(pod)
        ]
    )


def carrying(findings: tuple[Finding, ...], processes: list[Process]) -> tuple[Process, ...]:
    """The processes, the first server among them with what is wrong with the input as a whole."""
    if not findings:
        return tuple(processes)
    if not processes:
        origin = findings[0].origin
        return (Process(origin.source, Form.KUBERNETES, "", (), findings=findings),)
    at = next((i for i, each in enumerate(processes) if _serves(each)), 0)
    first = processes[at]
    processes = [*processes]
    processes[at] = replace(first, findings=(*findings, *first.findings))
    return tuple(processes)


@dataclass(frozen=True, slots=True)
class _Found:
    pod: Pod
    container: Node
    process: Process

    def names(self) -> Iterator[str]:
        """Names of it, each more exact than the one before."""
        owner = self.pod.owner
        name = owner.name or owner.kind.lower() or "pod"
        container = text_at(self.container, "name") or "?"
        yield name
        if self.pod.role is not None:
            name = f"{name}/{self.pod.role}"
            yield name
        yield f"{name}/{container}"
        if owner.namespace is not None:
            yield f"{owner.namespace}/{name}"
            yield f"{owner.namespace}/{name}/{container}"


def _named(found: list[_Found]) -> list[Process]:
    """The processes, the servers among them under the shortest names that tell them apart."""
    inside = {id(each): behind_shells(each.process) for each in found}
    serving = [each for each in found if any(map(_serves, inside[id(each)]))]
    longest = {id(each): [*each.names()] for each in serving}
    taken = [name for names in longest.values() for name in names]
    processes: list[Process] = []
    for each in found:
        names = longest.get(id(each))
        if names is None:
            processes.append(each.process)
        else:
            name = next((n for n in names if taken.count(n) == 1), names[-1])
            processes += _under(name, inside[id(each)])
    return processes


def _under(name: str, servers: tuple[Process, ...]) -> tuple[Process, ...]:
    named = tuple(replace(server, name=name) for server in servers)
    if len(named) == 1:
        return named
    # The parser of shell scripts is there already: only a script starts several.
    from hmactl.sources.shell.script import told_apart

    return told_apart(named)


def _serves(process: Process) -> bool:
    return find_command(process.argv) is not None
