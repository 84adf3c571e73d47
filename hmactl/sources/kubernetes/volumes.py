"""What a container finds at its mounts: files of ConfigMaps, the size of /dev/shm."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from hmactl.deployment.files import TextFile
from hmactl.deployment.places import places_of_point
from hmactl.sources.container.sizes import DEFAULT_SHM
from hmactl.sources.kubernetes.objects import Objects, items_at, text_at
from hmactl.sources.kubernetes.pods import Pod
from hmactl.sources.kubernetes.quantity import quantity
from hmactl.sources.node import Node
from hmactl.sources.yaml_word import yaml_word

_SHM = "/dev/shm"  # noqa: S108
_IN_MEMORY = "Memory"
# Volumes that take from the node's own disk, which `ephemeral-storage` bounds.
_EPHEMERAL = frozenset({"emptyDir", "configMap", "secret", "projected", "downwardAPI"})


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume at a path; ``sub_path`` is the part of the volume that is there."""

    path: str
    sub_path: str | None
    volume: Node | None


@dataclass(frozen=True, slots=True)
class Mounted:
    """``complete`` are the directories of which every file is known."""

    files: tuple[TextFile, ...]
    complete: tuple[str, ...]


def mounts_of(pod: Pod, container: Node) -> list[Mount]:
    """The container's mounts, in their order."""
    volumes = {text_at(node, "name"): node for node in items_at(pod.spec, "volumes")}
    found = []
    for node in items_at(container, "volumeMounts"):
        path, name = text_at(node, "mountPath"), text_at(node, "name")
        if path and name:
            sub_path = text_at(node, "subPath") or text_at(node, "subPathExpr")
            found.append(Mount(posixpath.normpath(path), sub_path, volumes.get(name)))
    return found


def mounted(objects: Objects, namespace: str | None, mounts: list[Mount]) -> Mounted:
    """The files of the ConfigMaps of the same input, at the paths where the container has them."""
    files: dict[str, TextFile] = {}
    complete = []
    for mount in mounts:
        if mount.volume is None:
            continue
        volume = _Volume(objects, namespace)
        content = {posixpath.normpath(path): node for path, node in volume.files(mount.volume)}
        if mount.sub_path is None and volume.understood and content:
            complete.append(mount.path)
        for path, node in content.items():
            where = _where(mount, path)
            if where is not None:
                word = yaml_word(objects.source, node)
                places = word.places or places_of_point(word.origin)
                files[where] = TextFile(where, word.text, places)
    return Mounted(tuple(files.values()), tuple(complete))


def _where(mount: Mount, path: str) -> str | None:
    if mount.sub_path is None:
        return posixpath.join(mount.path, path)
    sub_path = posixpath.normpath(mount.sub_path)
    if path == sub_path:
        return mount.path
    inside = path.removeprefix(f"{sub_path}/")
    return posixpath.join(mount.path, inside) if inside != path else None


@dataclass(slots=True)
class _Volume:
    objects: Objects
    namespace: str | None
    understood: bool = True

    def files(self, volume: Node) -> Iterator[tuple[str, Node]]:
        """Paths in the volume, each with the text of its file."""
        if (config_map := volume.at(("configMap",))) is not None:
            yield from self.config_map(config_map)
        elif (sources := volume.at(("projected", "sources"))) is not None:
            for part in sources.children.values():
                if (config_map := part.at(("configMap",))) is not None:
                    yield from self.config_map(config_map)
                else:
                    self.understood = False
        else:
            self.understood = False

    def config_map(self, node: Node) -> Iterator[tuple[str, Node]]:
        found = self.objects.find("ConfigMap", text_at(node, "name") or "", self.namespace)
        data = None if found is None else found.root.at(("data",))
        if found is None or data is None or found.root.at(("binaryData",)) is not None:
            self.understood = False
        if data is None:
            return
        items = node.at(("items",))
        if items is None or items.value is None:
            for key, value in data.children.items():
                if not value.children:
                    yield str(key), value
            return
        for item in items.children.values():
            chosen = data.children.get(text_at(item, "key") or "")
            path = text_at(item, "path")
            if chosen is not None and path is not None and not chosen.children:
                yield path, chosen


def shm_of(pod: Pod, mounts: list[Mount]) -> int | None:
    """The size of /dev/shm; None where it is the host's or is not known."""
    host = pod.spec.at(("hostIPC",))
    if host is not None and host.value is not False:
        return None
    mount = next((m for m in reversed(mounts) if m.path == _SHM), None)
    if mount is None:
        return DEFAULT_SHM
    return None if mount.volume is None else _in_memory(mount.volume)


def _in_memory(volume: Node) -> int | None:
    limit = volume.at(("emptyDir", "sizeLimit"))
    if limit is None or text_at(volume, "emptyDir", "medium") != _IN_MEMORY:
        return None
    # `0` is no limit.
    return quantity(limit.written) or None


def disk_of(mounts: list[Mount], path: str | None, limit: int | None) -> int | None:
    """The space for what is written to a path, None where it is not bounded by what is known.

    ``limit`` is the container's of ``ephemeral-storage``. None is a path that is not known: then
    every mount must count against that limit.
    """
    if path is None:
        on_node = all(_is_ephemeral(m) for m in mounts if m.path != _SHM)
        return limit if on_node else None
    inside = [m for m in mounts if f"{path}/".startswith(f"{m.path.rstrip('/')}/")]
    mount = max(inside, key=lambda m: len(m.path), default=None)
    if mount is None:
        return limit
    if mount.volume is None or not _is_ephemeral(mount):
        return None
    own = mount.volume.at(("emptyDir", "sizeLimit"))
    bounds = [limit, None if own is None else quantity(own.written) or None]
    return min((bound for bound in bounds if bound is not None), default=None)


def _is_ephemeral(mount: Mount) -> bool:
    return (
        mount.volume is not None
        and not _EPHEMERAL.isdisjoint(map(str, mount.volume.children))
        and text_at(mount.volume, "emptyDir", "medium") != _IN_MEMORY
    )
