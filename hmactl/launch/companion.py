"""The LMCache server that a profile wants beside its engine (``lmcache_server: {start: true}``)."""

from collections.abc import Mapping

from hmactl.deployment.command import lmcache_server_arguments
from hmactl.deployment.deployment import Deployment
from hmactl.engine.find import Engine
from hmactl.launch.launch import Launch

# Before 0.5.3 it cannot be run with -m, which then does nothing and succeeds.
_MAIN = "from lmcache.cli.main import main; main()"


class NoCompanionError(Exception):
    """The engine's interpreter has no LMCache with a server; the text says what it has."""


def plan_companion(
    deployment: Deployment, engine: Engine, added: Mapping[str, str]
) -> Launch | None:
    """``lmcache server`` with the profile's options; None where hmactl is not asked to start it.

    It gets the variables that are ``added`` for the engine, and runs in the engine's interpreter,
    because the two must be of one release. Raises NoCompanionError.
    """
    arguments = lmcache_server_arguments(deployment)
    server = deployment.lmcache_server
    if server is None or arguments is None or not server.start:
        return None
    if engine.lmcache is None:
        raise NoCompanionError(f"{engine.python} has no LMCache to start a server of")
    # The command came with LMCache 0.4.3; an older release has only modules of its parts.
    if not (engine.lmcache.location / "lmcache" / "cli" / "commands" / "server.py").exists():
        raise NoCompanionError(
            f"LMCache {engine.lmcache.version} has no `lmcache server`; start its server yourself "
            "and set `start: false`"
        )
    script = engine.python.with_name("lmcache")
    program = (str(script),) if script.exists() else (str(engine.python), "-c", _MAIN)
    return Launch((*program, "server", *arguments), added)
