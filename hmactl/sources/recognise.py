"""Which YAML documents are vLLM's or LMCache's own configuration."""

from hmactl.catalogue.flags import vllm_flags
from hmactl.sources.node import Node
from hmactl.sources.option_name import option_name

# Options of many programs have one word or two: `port`, `log-level`.
_OF_VLLM = 2
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


def looks_like_vllm_config(root: Node) -> bool:
    """Whether a YAML document is vLLM's configuration: most of its keys are options of vLLM, and
    one of them is of no other program."""
    value, flags = root.value, vllm_flags()
    if not isinstance(value, dict) or isinstance(value.get("model"), dict | list):
        return False
    names = [name for key in value if f"--{(name := option_name(key))}" in flags]
    return len(names) * 2 > len(value) and any(
        name.count("-") >= _OF_VLLM or name == "enforce-eager" for name in names
    )


def looks_like_lmcache(root: Node) -> bool:
    """Whether a YAML document is LMCache's configuration: most of its keys are LMCache's."""
    if not isinstance(root.value, dict) or "model" in root.value:
        return False
    keys = set(root.value)
    return len(keys & _KEYS) * 2 > len(keys) or len(keys & _KEYS) > 2
