"""The connector of a deployment that gives ``kv-transfer-config`` itself."""

import json
from typing import Any

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import Setting

# Fields that a Connector has by itself.
_OWN = (
    *("kv_connector", "kv_role", "kv_connector_module_path"),
    "kv_connector_extra_config",
)


def written_connector(deployment: Deployment) -> Connector | None:
    """The connector, under ``connector:`` or as ``kv-transfer-config``."""
    return deployment.connector or transfer_connector(deployment)


def transfer_connector(deployment: Deployment) -> Connector | None:
    """That setting as a Connector; None where there is none or it cannot be understood.

    What cannot be understood is left to the engine's parser, which sees it as it is written.
    """
    setting = deployment.vllm_setting(KV_TRANSFER_CONFIG)
    if setting is None:
        return None
    value: Any = setting.value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return _connector(value, setting)


def _connector(value: Any, setting: Setting) -> Connector | None:
    if not isinstance(value, dict) or not isinstance(value.get("kv_connector"), str):
        return None
    extra = value.get("kv_connector_extra_config") or {}
    children = extra.get("connectors") if isinstance(extra, dict) else None
    parsed = (
        [_connector(child, setting) for child in children] if isinstance(children, list) else []
    )
    rest = {k: v for k, v in extra.items() if k != "connectors"} if isinstance(extra, dict) else {}
    return Connector(
        name=value["kv_connector"],
        origin=setting.origin,
        role=str(value.get("kv_role", "")),
        module_path=value.get("kv_connector_module_path"),
        extra_config=rest,
        options={k: v for k, v in value.items() if k not in _OWN},
        children=tuple(child for child in parsed if child is not None),
        places=setting.places,
    )
