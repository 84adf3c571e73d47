"""What is to be supervised: the LMCache server, if it is to be started, and the engine."""

from collections.abc import Mapping

from hmactl.deployment.deployment import Deployment
from hmactl.facts.lmcache import option_number
from hmactl.launch.address import reached_at
from hmactl.launch.endpoint import Endpoint, engine_endpoint, server_endpoint
from hmactl.launch.launch import Launch
from hmactl.launch.supervise.health import Health
from hmactl.launch.supervise.service import Service

ENGINE, COMPANION = "vllm", "lmcache"
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
                _health(server_endpoint(deployment)),
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
            _health(engine_endpoint(deployment)),
            start_seconds,
            _ENGINE_STOP_SECONDS + _drain_seconds(deployment),
        )
    )
    return tuple(found)


def _health(endpoint: Endpoint | None) -> Health | None:
    if endpoint is None:
        return None
    return Health(reached_at(endpoint.host), endpoint.port, endpoint.paths)


def _drain_seconds(deployment: Deployment) -> float:
    """How long vLLM itself waits for requests in flight when it is asked to stop."""
    setting = deployment.vllm_setting("shutdown-timeout")
    return max(0.0, option_number(None if setting is None else setting.value) or 0.0)
