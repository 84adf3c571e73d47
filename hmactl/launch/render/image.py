"""The container image that holds the engine which was checked."""

from packaging.version import InvalidVersion, Version

from hmactl.catalogue.gpus import CPU
from hmactl.deployment.deployment import Deployment
from hmactl.facts.transfer import written_connector

_REPOSITORY = "vllm/vllm-openai"


class NoImageError(Exception):
    """No image is known to hold what was checked; the text says why."""


def default_image(deployment: Deployment, vllm: str | None, lmcache: str | None) -> str:
    """vLLM's own image of that release.

    Raises NoImageError where that is not certain to hold what was checked: its LMCache is whichever
    release was the newest when it was built (``lmcache >= 0.3.9`` in vLLM's
    requirements/kv_connectors.txt), and LMCache's own images do not say which vLLM they hold.
    """
    if deployment.target.gpu == CPU:
        raise NoImageError("for a CPU there is an image for each kind of processor")
    release = _release(vllm)
    if release is None:
        what = "the version of vLLM is not known" if not vllm else f"vLLM {vllm} is no release"
        raise NoImageError(what)
    if uses_lmcache(deployment):
        pair = f"vLLM {release} with LMCache {lmcache}" if lmcache else "vLLM with that LMCache"
        raise NoImageError(f"no published image says that it holds {pair}")
    return f"{_REPOSITORY}:v{release}"


def uses_lmcache(deployment: Deployment) -> bool:
    """Whether a connector of LMCache's is configured."""
    connector = written_connector(deployment)
    return connector is not None and any("LMCache" in one.name for one in connector.walk())


def _release(version: str | None) -> str | None:
    """The version as a tag spells it; None for what was never published as an image."""
    try:
        parsed = Version(version or "")
    except InvalidVersion:
        return None
    return None if parsed.is_prerelease or parsed.is_devrelease else parsed.public
