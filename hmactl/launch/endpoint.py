"""Where a deployment's processes answer, and what they answer when they are healthy."""

from dataclasses import dataclass

from hmactl.deployment.deployment import Deployment
from hmactl.launch.address import serve_address
from hmactl.launch.ports import lmcache_server_ports

# LMCache 0.4.3 to 0.4.6 have the second.
_SERVER_PATHS = ("/healthcheck", "/api/healthcheck")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a process answers. ``host`` is the address that it binds, "" for all; ``paths`` are
    those of which one says 200 when it is healthy; none where only a connection can be tried."""

    port: int
    host: str
    paths: tuple[str, ...]

    @property
    def loopback(self) -> bool:
        """Whether only processes beside it reach it."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


def engine_endpoint(deployment: Deployment) -> Endpoint | None:
    """vLLM's; None where it has no port, or one that only vLLM's own file names."""
    address = serve_address(deployment)
    if address is None:
        return None
    bound, port = address
    encrypted = deployment.vllm_setting("ssl-certfile") is not None
    # A certificate is nothing that a question about health could do anything about.
    return Endpoint(port, bound, () if encrypted else ("/health",))


def server_endpoint(deployment: Deployment) -> Endpoint | None:
    """The LMCache server's, as far as the deployment describes it."""
    ports = list(lmcache_server_ports(deployment))
    if not ports:
        return None
    # The second is the one that answers HTTP.
    return Endpoint(ports[-1].number, ports[-1].host, _SERVER_PATHS if len(ports) > 1 else ())
