"""What is to be supervised: the LMCache server, if it is to be started, and the engine."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from hmactl.deployment.deployment import Deployment
from hmactl.facts.lmcache import option_number
from hmactl.launch.address import serve_url
from hmactl.launch.launch import Launch
from hmactl.launch.ports import lmcache_server_ports
from hmactl.launch.supervise.health import Health
from hmactl.launch.supervise.service import Service

ENGINE, COMPANION = "vllm", "lmcache"
# The second is where LMCache 0.4.3 to 0.4.6 have it.
_COMPANION_PATHS = ("/healthcheck", "/api/healthcheck")
# It stops within a second, but may have to write what it holds to disk.
_COMPANION_STOP_SECONDS = 20.0
_ENGINE_STOP_SECONDS = 20.0


def services(
    deployment: Deployment,
    engine: Launch,
    companion: Launch | None,
    environment: Mapping[str, str],
    start_seconds: float,
) -> tuple[Service, ...]:
    """In the order of their start.

    ``environment`` is the caller's, which they inherit; ``start_seconds`` is how long each of them
    may take to become healthy.
    """
    found = []
    if companion is not None:
        found.append(
            Service(
                COMPANION,
                "the LMCache server",
                companion.argv,
                {**environment, **companion.added},
                _companion_health(deployment),
                start_seconds,
                _COMPANION_STOP_SECONDS,
            )
        )
    found.append(
        Service(
            ENGINE,
            "vLLM",
            engine.argv,
            {**environment, **engine.added},
            _engine_health(deployment),
            start_seconds,
            _ENGINE_STOP_SECONDS + _drain_seconds(deployment),
        )
    )
    return tuple(found)


def _companion_health(deployment: Deployment) -> Health | None:
    ports = list(lmcache_server_ports(deployment))
    if len(ports) < 2:
        return None
    http = ports[1]
    host = "127.0.0.1" if http.host in {"", "0.0.0.0"} else http.host  # noqa: S104
    return Health(host, http.number, _COMPANION_PATHS)


def _engine_health(deployment: Deployment) -> Health | None:
    """None where nothing of it answers here, or where its address stands in a file of its own."""
    silent = deployment.vllm_setting("headless")
    if silent is not None and silent.value is not False:
        return None
    if deployment.vllm_setting("config") is not None and deployment.vllm_setting("port") is None:
        return None
    url = serve_url(deployment)
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        return None
    # A certificate is nothing that a question about health could do anything about.
    return Health(parts.hostname, parts.port, ("/health",) if parts.scheme == "http" else ())


def _drain_seconds(deployment: Deployment) -> float:
    """How long vLLM itself waits for requests in flight when it is asked to stop."""
    setting = deployment.vllm_setting("shutdown-timeout")
    return max(0.0, option_number(None if setting is None else setting.value) or 0.0)
