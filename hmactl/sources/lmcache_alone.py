"""LMCache's own configuration file by itself: a deployment of which only that is known."""

import json
from pathlib import PurePath

from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.sources.given import Given
from hmactl.sources.lmcache_file import VARIABLE
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.yaml_nodes import read_documents

_CONNECTOR = "LMCacheConnectorV1"
_ROLES = {"sender": "kv_producer", "receiver": "kv_consumer"}
_KEYS = frozenset(
    {
        *("chunk_size", "local_cpu", "local_device", "max_local_cpu_size", "local_disk"),
        *("max_local_disk_size", "remote_url", "remote_serde", "gds_path", "save_decode_cache"),
        *("save_unfull_chunk", "use_layerwise", "enable_blending", "enable_async_loading"),
        *("enable_p2p", "enable_pd", "enable_nixl", "enable_controller", "lmcache_instance_id"),
        *("pd_role", "nixl_role", "nixl_buffer_size", "pd_buffer_size", "extra_config"),
        *("pre_caching_hash_algorithm", "remote_storage_plugins", "storage_plugins"),
        *("controller_pull_url", "controller_reply_url", "cache_policy", "numa_mode"),
    }
)


def read_lmcache(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """A vLLM with LMCache in its process that reads this file; the rest of it is not known."""
    del given
    documents = read_documents(source, text)
    root = documents[0].root if documents else None
    place = Origin(source, *(root.position if root is not None else (1, 1)))
    config = {"kv_connector": _CONNECTOR, "kv_role": _role(root)}
    words = ("vllm", "serve", "--kv-transfer-config", json.dumps(config))
    return (
        Process(
            source=source,
            form=Form.LMCACHE,
            name="stdin" if source == "-" else PurePath(source).stem,
            argv=tuple(Word(word, place) for word in words),
            environment=(Variable(VARIABLE, Word(source, place), place),),
            unknown=(
                Unknown(Area.VLLM, None, "(the command of vLLM)", place),
                Unknown(Area.ENV, "PYTHONHASHSEED", "(the environment)", place),
            ),
            files=(TextFile(source, text, places_of_file(source, text)),),
        ),
    )


def looks_like_lmcache(root: Node) -> bool:
    """Whether a YAML document is LMCache's configuration: most of its keys are LMCache's."""
    if not isinstance(root.value, dict) or "model" in root.value:
        return False
    keys = set(root.value)
    return len(keys & _KEYS) * 2 > len(keys) or len(keys & _KEYS) > 2


def _role(root: Node | None) -> str:
    value = root.value if root is not None else None
    for key in ("pd_role", "nixl_role"):
        if isinstance(value, dict) and (role := _ROLES.get(str(value.get(key)))) is not None:
            return role
    return "kv_both"
