"""LMCache's configuration file in, its settings with their places out."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.files import TextFile
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.places import Places, places_of_file
from hmactl.deployment.setting import ENVIRONMENT, Area, Origin, Setting
from hmactl.sources.text_file import read_text
from hmactl.sources.yaml_nodes import read_documents

VARIABLE = "LMCACHE_CONFIG_FILE"


def lmcache_file(
    deployment: Deployment, environment: Mapping[str, str], directory: Path
) -> LMCacheFile | None:
    """The file that the deployment's LMCACHE_CONFIG_FILE names; None where it names none.

    ``environment`` is what the server inherits; a relative path is relative to ``directory``.
    Never raises for what a path can name, and never waits for data.
    """
    written = next((s for s in reversed(deployment.env) if s.name == VARIABLE), None)
    if written is None and deployment.is_unknown(Area.ENV, VARIABLE):
        return None
    if written is not None:
        path, origin = str(written.value), written.origin
    elif VARIABLE in environment:
        path, origin = environment[VARIABLE], ENVIRONMENT
    else:
        return None
    carried = carried_file(deployment, path)
    if carried is not None:
        return read_lmcache_file(path, origin, carried.text, carried.places)
    return read_lmcache_file(path, origin, read_text(directory / path) if path else None)


def carried_file(deployment: Deployment, path: str) -> TextFile | None:
    """The file at that path whose content stands in the deployment's source."""
    return next((file for file in deployment.files if file.path == path), None)


def carried_settings(deployments: Iterable[Deployment]) -> dict[str, tuple[Setting, ...]]:
    """The settings of LMCache's files that stand in the deployments' sources, by their paths."""
    found = {}
    for deployment in deployments:
        for setting in deployment.env:
            for file in deployment.files:
                if setting.name == VARIABLE and file.path == setting.value:
                    read = read_lmcache_file(file.path, setting.origin, file.text, file.places)
                    found[file.path] = read.settings
    return found


def read_lmcache_file(
    path: str, origin: Origin, text: str | None, places: Places | None = None
) -> LMCacheFile:
    """That text as LMCache's configuration file; ``path`` is its name in findings.

    ``places`` are those of the text's characters where it stands in another file.
    """
    if text is None:
        return LMCacheFile(path, origin, None)
    documents = read_documents(path, text)
    # What is wrong with it, LMCache's own loader says.
    root = documents[0].root if documents else None
    if root is None or not isinstance(root.value, dict):
        return LMCacheFile(path, origin, text)
    file = TextFile(path, text, places or places_of_file(path, text))
    settings = tuple(
        Setting(key, value, file.place(*root.key_position((key,))))
        for key, value in root.value.items()
    )
    return LMCacheFile(path, origin, text, settings)
