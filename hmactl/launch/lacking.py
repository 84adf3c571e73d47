"""What a deployment that was read elsewhere lacks for a start on this machine."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import Area


def lacking(deployment: Deployment, environment: Mapping[str, str]) -> Iterator[str]:
    """Why a start would not be what was written: a sentence for each value or file.

    ``environment`` is the caller's, which the server inherits.
    """
    for unknown in deployment.unknown:
        if unknown.area is Area.ENV and (unknown.name is None or unknown.name in environment):
            continue
        name = unknown.name or "what else may be set"
        supply = f"; --set {unknown.needs[0]}=... supplies it" if unknown.needs else ""
        yield f"{unknown.origin}: `{name}` is not known{supply}"
    used = {str(setting.value) for setting in deployment.env}
    for file in deployment.files:
        if file.path in used and not Path(file.path).exists():
            yield f"{file.path} stands in {deployment.source} and not on this machine"
