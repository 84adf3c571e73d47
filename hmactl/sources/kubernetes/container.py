"""A container of a pod as a process."""

import re
from collections.abc import Iterator
from itertools import pairwise

from hmactl.deployment.deployment import Target
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.finding import Finding
from hmactl.sources.container.start import container_start
from hmactl.sources.given import Given
from hmactl.sources.image import versions
from hmactl.sources.kubernetes import complaints
from hmactl.sources.kubernetes.environment import Environment
from hmactl.sources.kubernetes.machine import gpu_of, gpus_of, limit_of
from hmactl.sources.kubernetes.objects import Objects, items_at
from hmactl.sources.kubernetes.pods import Pod
from hmactl.sources.kubernetes.volumes import (
    Mounted,
    disk_of,
    mounted,
    mounts_of,
    shm_of,
)
from hmactl.sources.lmcache_file import VARIABLE, read_lmcache_file
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_SHORT_OPTIONS_WITH_C = re.compile(r"-\w*c")
_DISK = "LMCACHE_LOCAL_DISK"


def process_of(pod: Pod, container: Node, objects: Objects, given: Given, form: Form) -> Process:
    """What a container starts, with its variables, files and limits."""
    source = objects.source
    environment = Environment(objects, pod.owner, container, given)
    environment.run()
    image = _word(environment, container, "image")
    command, arguments = _command(environment, container)
    argv, findings = container_start(image, command or None, arguments)
    mounts = mounts_of(pod, container)
    content = mounted(objects, pod.owner.namespace, mounts)
    variables = environment.variables
    findings = (*environment.findings, *findings, *_missing_file(variables, content))
    vllm, lmcache = versions(image.text) if image is not None and image.known else (None, None)
    gpu, gpu_origin = gpu_of(source, pod)
    disk = _disk(variables, content.files)
    return Process(
        source=source,
        form=form,
        name=pod.owner.name,
        argv=argv,
        environment=tuple(variables.values()),
        unknown=(*environment.unknown, *_unseen(source, pod)),
        files=content.files,
        target=Target(
            gpu=gpu,
            gpu_origin=gpu_origin,
            gpus=gpus_of(container),
            memory_limit=limit_of(container, "memory"),
            shm=None if pod.owner.unseen is not None else shm_of(pod, mounts),
            disk=disk_of(mounts, disk, limit_of(container, "ephemeral-storage")),
            vllm=vllm,
            lmcache=lmcache,
        ),
        findings=findings,
    )


def _unseen(source: str, pod: Pod) -> Iterator[Unknown]:
    """Anything may be set by a controller."""
    if pod.owner.unseen is not None:
        text, node = pod.owner.unseen
        for area in (Area.VLLM, Area.ENV):
            yield Unknown(area, None, text, Origin(source, *node.position))


def _word(environment: Environment, container: Node, key: str) -> Word | None:
    node = container.at((key,))
    return None if node is None or not isinstance(node.value, str) else environment.word(node)


def _command(
    environment: Environment, container: Node
) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """``command`` and ``args``."""
    command = _items(environment, container, "command")
    nodes = [*command, *_items(environment, container, "args")]
    scripts = {id(node) for node in _scripts(nodes)}
    words = tuple(environment.word(node, script=id(node) in scripts) for node in nodes)
    return words[: len(command)], words[len(command) :]


def _items(environment: Environment, container: Node, key: str) -> list[Node]:
    nodes = [n for n in items_at(container, key) if not isinstance(n.value, dict | list)]
    for node in nodes:
        environment.complain_of_kind(node, key)
    return nodes


def _scripts(nodes: list[Node]) -> Iterator[Node]:
    """The word behind ``sh -c``."""
    shell = False
    for before, node in pairwise(nodes):
        shell = shell or before.written.rpartition("/")[2] in _SHELLS
        option = before.written
        if shell and _SHORT_OPTIONS_WITH_C.fullmatch(option):
            yield node
            return


def _missing_file(variables: dict[str, Variable], content: Mounted) -> Iterator[Finding]:
    """K8S006 where LMCache's file is not among those that are mounted in its directory."""
    variable = variables.get(VARIABLE)
    if variable is None or not variable.value.known:
        return
    path = variable.value.text
    directory = path.rpartition("/")[0]
    if directory in content.complete and all(file.path != path for file in content.files):
        yield complaints.not_in_config_map(path, directory, variable.value.origin)


def _disk(variables: dict[str, Variable], files: tuple[TextFile, ...]) -> str | None:
    """LMCache's disk directory, None where it is not known."""
    name = variables.get(VARIABLE)
    path = None
    if name is not None and name.value.known:
        file = next((f for f in files if f.path == name.value.text), None)
        if file is not None:
            settings = read_lmcache_file(file.path, name.origin, file.text, file.places).settings
            path = next((s.value for s in settings if s.name == "local_disk"), None)
    if (variable := variables.get(_DISK)) is not None:
        path = variable.value.text if variable.value.known else None
    if not isinstance(path, str):
        return None
    path = path.strip().removeprefix("file://")
    return path if path.startswith("/") else None
