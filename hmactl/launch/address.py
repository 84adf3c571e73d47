"""Where a deployment's server answers."""

from hmactl.deployment.deployment import Deployment

DEFAULT_PORT = 8000
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}  # noqa: S104


def serve_port(deployment: Deployment) -> int | None:
    """The TCP port of ``vllm serve``; None for a Unix socket or a port that is no number."""
    if deployment.vllm_setting("uds") is not None:
        return None
    setting = deployment.vllm_setting("port")
    try:
        return DEFAULT_PORT if setting is None else int(str(setting.value))
    except ValueError:
        return None


def serve_url(deployment: Deployment) -> str | None:
    """The server's address as this machine reaches it; None where it has no port."""
    port = serve_port(deployment)
    if port is None:
        return None
    host = deployment.vllm_setting("host")
    name = "" if host is None else str(host.value)
    if ":" in name and name not in _EVERYWHERE:
        name = f"[{name}]"
    scheme = "http" if deployment.vllm_setting("ssl-certfile") is None else "https"
    return f"{scheme}://{_EVERYWHERE.get(name, name)}:{port}"
