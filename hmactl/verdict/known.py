"""What a deployment itself says of the decision about HMA, for a verdict without an engine."""

import json
from collections.abc import Mapping
from typing import Any

from hmactl.catalogue.connector_versions import Child
from hmactl.deployment.command import KV_TRANSFER_CONFIG, serve_environment
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.setting import Area, Json
from hmactl.facts.transfer import written_connector
from hmactl.verdict.offline import Asked, Known, ModelKind

_OFFLOADING = frozenset({"kv-offloading-size", "kv-offloading-backend"})
CHUNKS_VARIABLE = "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE"
# `draft_model` is not among them: vLLM looks at the draft and may call it otherwise.
_OTHER_METHODS = frozenset({"ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator"})


def known(
    deployment: Deployment,
    *,
    vllm: str | None,
    lmcache: str | None,
    model: ModelKind | None,
    chunks: bool | None,
    inherited: Mapping[str, str] | None = None,
) -> Known | None:
    """Everything that `offline_verdict` asks, from the deployment's own settings.

    ``chunks``: whether the model has an attention_chunk_size. ``inherited`` is the environment
    that the deployment's own adds to. None where the connector was written but cannot be known.
    """
    connector = written_connector(deployment)
    written = deployment.vllm_setting(KV_TRANSFER_CONFIG) is not None
    hidden = deployment.is_unknown(Area.VLLM, KV_TRANSFER_CONFIG)
    # These replace the connector. That anything else may be set says nothing against what is.
    offloading = any(u.area is Area.VLLM and u.name in _OFFLOADING for u in deployment.unknown)
    if offloading or (connector is None and (written or hidden)):
        return None
    environment = {**(inherited or {}), **serve_environment(deployment)}
    allows = environment.get(CHUNKS_VARIABLE)
    return Known(
        vllm=vllm,
        lmcache=lmcache,
        connector=None if connector is None else _asked(connector),
        model=model,
        policy=deployment.hma,
        offloading=_offloading(deployment),
        kv_events=_given(deployment, "kv-events-config"),
        chunks=chunks,
        allows_chunks=allows != "0" if allows else None,
        eagle=_eagle(deployment),
        hisparse=_hisparse(deployment),
        environment=environment,
    )


def _asked(connector: Connector) -> Asked:
    children = tuple(map(_child, connector.children))
    return Asked(connector.name, connector.module_path, children)


def _child(connector: Connector) -> Child:
    children = tuple(map(_child, connector.children))
    return Child(connector.name, connector.module_path, children)


def _given(deployment: Deployment, option: str) -> bool | None:
    if deployment.vllm_setting(option) is not None:
        return True
    return None if deployment.is_unknown(Area.VLLM, option) else False


def _offloading(deployment: Deployment) -> str | None:
    """The offloading backend; "" is vLLM's default, None that there is no offloading."""
    if deployment.vllm_setting("kv-offloading-size") is None:
        return None
    backend = deployment.vllm_setting("kv-offloading-backend")
    return "" if backend is None else str(backend.value)


def _eagle(deployment: Deployment) -> bool | None:
    """Whether vLLM drafts like EAGLE; None for a method that some releases count and some not."""
    setting = deployment.vllm_setting("speculative-config")
    if setting is None:
        return None if deployment.is_unknown(Area.VLLM, "speculative-config") else False
    method = _mapping(setting.value).get("method")
    if method in {"eagle", "eagle3"}:
        return True
    return False if method in _OTHER_METHODS else None


def _hisparse(deployment: Deployment) -> bool | None:
    setting = deployment.vllm_setting("attention-config")
    if setting is None:
        return None if deployment.is_unknown(Area.VLLM, "attention-config") else False
    return bool(_mapping(setting.value).get("hisparse_config"))


def _mapping(value: Json) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
