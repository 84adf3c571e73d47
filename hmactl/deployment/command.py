"""The ``vllm serve`` command line and environment that a deployment means.

The dry boot and the launcher both call this, so that what was checked is what runs.
"""

import json

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import Json

KV_TRANSFER_CONFIG = "kv-transfer-config"


def serve_arguments(deployment: Deployment) -> list[str]:
    """Arguments after ``vllm serve``: the model, every flag in the order written, the connector."""
    flags = [argument for _name, arguments in serve_flags(deployment) for argument in arguments]
    return [str(deployment.model.value), *flags]


def serve_flags(deployment: Deployment) -> list[tuple[str, list[str]]]:
    """Each option's name with its arguments, in the order written, the connector last."""
    flags = [(s.name, flag_arguments(s.name, s.value)) for s in deployment.vllm]
    if deployment.connector is not None:
        config = deployment.connector.kv_transfer_config()
        flags.append((KV_TRANSFER_CONFIG, flag_arguments(KV_TRANSFER_CONFIG, config)))
    return flags


def lmcache_server_arguments(deployment: Deployment) -> tuple[str, ...] | None:
    """Arguments after ``lmcache server``; None where the deployment describes no server."""
    server = deployment.lmcache_server
    if server is None:
        return None
    return tuple(a for s in server.options for a in flag_arguments(s.name, s.value))


def flag_arguments(name: str, value: Json) -> list[str]:
    """One long option as vLLM's parser takes it.

    True and False become ``--name`` and ``--no-name``, a list becomes several values, a mapping
    becomes JSON. A value that starts with a dash is joined with ``=`` so that it is not read as
    an option.
    """
    match value:
        case True | None:
            return [f"--{name}"]
        case False:
            return [f"--no-{name}"]
        case list():
            return [f"--{name}", *map(_text, value)]
    text = _text(value)
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def serve_environment(deployment: Deployment) -> dict[str, str]:
    """The variables that the deployment adds to the environment: its LMCache keys, then ``env``.

    LMCache reads every key of its own as ``LMCACHE_`` and the key in upper case.
    """
    # An LMCache key that is null means the default, which no variable can spell.
    lmcache = {
        f"LMCACHE_{s.name.upper()}": _lmcache_text(s.value)
        for s in deployment.lmcache
        if s.value is not None
    }
    return lmcache | {s.name: _text(s.value) for s in deployment.env}


def _lmcache_text(value: Json) -> str:
    # LMCache's environment converters split lists at commas and parse only mappings as JSON.
    return ",".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.1f}"
    return json.dumps(value, separators=(", ", ": "))
