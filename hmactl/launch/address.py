"""Where a deployment's server answers."""

from hmactl.deployment.deployment import Deployment

DEFAULT_PORT = 8000
_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound


def serve_port(deployment: Deployment) -> int | None:
    """The TCP port of ``vllm serve``; None for a Unix socket or a port that is no number."""
    if deployment.vllm_setting("uds") is not None:
        return None
    setting = deployment.vllm_setting("port")
    try:
        return DEFAULT_PORT if setting is None else int(str(setting.value))
    except ValueError:
        return None


def serve_address(deployment: Deployment) -> tuple[str, int] | None:
    """The address that ``vllm serve`` binds, "" for all, and its TCP port.

    None where it has no port, or one that only vLLM's own file names.
    """
    headless = deployment.vllm_setting("headless")
    if headless is not None and headless.value is not False:
        return None
    if deployment.vllm_setting("config") is not None and deployment.vllm_setting("port") is None:
        return None
    port = serve_port(deployment)
    return (_bound(deployment), port) if port else None


def reached_at(bound: str) -> str:
    """Where this machine reaches what binds that address."""
    return _EVERYWHERE.get(bound, bound)


def serve_url(deployment: Deployment) -> str | None:
    """The server's address as this machine reaches it; None where it has no port."""
    port = serve_port(deployment)
    if port is None:
        return None
    name = reached_at(_bound(deployment))
    if ":" in name:
        name = f"[{name}]"
    scheme = "http" if deployment.vllm_setting("ssl-certfile") is None else "https"
    return f"{scheme}://{name}:{port}"


def _bound(deployment: Deployment) -> str:
    host = deployment.vllm_setting("host")
    return "" if host is None else str(host.value)
