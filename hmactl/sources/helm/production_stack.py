"""The vLLM production stack's chart: an entry of ``modelSpec`` as the Deployment it becomes.

Source: helm/templates/deployment-vllm-multi.yaml and _helpers.tpl of vllm-project/production-stack,
commits 010004e, f1f9822 and 06bd6fb. Where these differ, the variable is there and its value is
not known. Of a model that runs on Ray (``raySpec``) only the command is known.
"""

from collections.abc import Iterator

from hmactl.sources.helm.go import integer_of, is_true, text_of
from hmactl.sources.kubernetes.build import mapping, scalar, sequence
from hmactl.sources.kubernetes.machine import GPUS
from hmactl.sources.kubernetes.objects import items_at, text_at
from hmactl.sources.node import Node

_PORT = "8000"
_SHM = "20Gi"
# Keys of vllmConfig, in the chart's order, with the options that they become.
_OPTIONS = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu_memory_utilization",
    "maxLoras": "--max_loras",
    "runner": "--runner",
    "convert": "--convert",
}
# Keys of lmcacheConfig that become a variable with the same text.
_OF_NIXL = {
    "nixlRole": "LMCACHE_NIXL_ROLE",
    "nixlPeerHost": "LMCACHE_NIXL_RECEIVER_HOST",
    "nixlPeerPort": "LMCACHE_NIXL_RECEIVER_PORT",
    "nixlBufferSize": "LMCACHE_NIXL_BUFFER_SIZE",
    "nixlBufferDevice": "LMCACHE_NIXL_BUFFER_DEVICE",
}
_OF_NIXL_SWITCHES = {"enableNixl": "LMCACHE_ENABLE_NIXL", "nixlEnableGc": "LMCACHE_NIXL_ENABLE_GC"}
_OF_CONTROLLER = {
    "instanceId": "LMCACHE_LMCACHE_INSTANCE_ID",
    "workerPorts": "LMCACHE_LMCACHE_WORKER_PORTS",
    "p2pHost": "LMCACHE_P2P_HOST",
    "p2pInitPorts": "LMCACHE_P2P_INIT_PORTS",
    "workerHeartbeatTime": "LMCACHE_LMCACHE_WORKER_HEARTBEAT_TIME",
}
# Keys whose variable has another name or is not made in some versions of the chart.
_OF_ANOTHER_RELEASE = {
    "controllerPort": ("LMCACHE_CONTROLLER_PULL_URL", "RELEASE-router-service:"),
    "controllerReplyPort": ("LMCACHE_CONTROLLER_REPLY_URL", "RELEASE-router-service:"),
    "workerPort": ("LMCACHE_LMCACHE_WORKER_PORTS", "workerPort "),
}
_UNDERSTOOD = frozenset(
    {
        *("enabled", "enablePD", "kvRole", "logLevel", "cudaVisibleDevices", "enableController"),
        *("cpuOffloadingBufferSize", "diskOffloadingBufferSize"),
        *(*_OF_NIXL, *_OF_NIXL_SWITCHES, *_OF_CONTROLLER, *_OF_ANOTHER_RELEASE),
    }
)


def models_of(values: Node) -> list[Node]:
    """The entries of ``modelSpec`` that are deployed."""
    engine = values.at(("servingEngineSpec", "enableEngine"))
    if engine is not None and engine.value is False:
        return []
    return [
        model
        for model in items_at(values, "servingEngineSpec", "modelSpec")
        if isinstance(model.value, dict)
        and ((switch := model.at(("enabled",))) is None or switch.value is not False)
    ]


def is_on_ray(model: Node) -> bool:
    """Whether it runs as a RayCluster, of which other templates are made."""
    ray = model.at(("raySpec",))
    if ray is None:
        return False
    switch = ray.at(("enabled",))
    return switch is None or is_true(switch)


def of_another_version(model: Node) -> tuple[str, Node] | None:
    """A key of ``lmcacheConfig`` that only another version of the chart makes something of."""
    lmcache = model.at(("lmcacheConfig",))
    for key, node in lmcache.children.items() if lmcache is not None else ():
        if key not in _UNDERSTOOD:
            return f"lmcacheConfig.{key}", node
    return None


def render(values: Node, model: Node) -> Node:
    """The Deployment that the chart makes of an entry of ``modelSpec``."""
    parallel = model.at(("vllmConfig", "tensorParallelSize"))
    shm = None if parallel is None else _shm(model, parallel)
    switch = model.at(("lmcacheConfig", "enablePD"))
    container = mapping(
        {
            "name": scalar("vllm", model),
            "image": _image(model),
            "command": sequence(_command(values, model), model),
            "env": sequence(_environment(values, model), model),
            "envFrom": sequence(_env_from(values, model), model),
            "resources": _resources(model),
            "volumeMounts": sequence(
                [
                    *([] if parallel is None else [_mount("shm", "/dev/shm", parallel)]),  # noqa: S108
                    *_storage_mount(model),
                    *items_at(model, "extraVolumeMounts"),
                ],
                model,
            ),
        },
        model,
    )
    volumes = [*([] if shm is None else [shm]), *items_at(model, "extraVolumes")]
    spec = mapping(
        {
            "containers": sequence([container], model),
            "volumes": sequence(volumes, model),
            "hostIPC": switch if is_true(switch) else None,
            "affinity": _affinity(model),
        },
        model,
    )
    return mapping(
        {
            "kind": scalar("Deployment", model),
            "metadata": mapping({"name": model.at(("name",))}, model),
            "spec": spec,
        },
        model,
    )


def config_map(values: Node) -> Node | None:
    """The ConfigMap that ``servingEngineSpec.configs`` becomes."""
    configs = values.at(("servingEngineSpec", "configs"))
    if configs is None or not configs.children:
        return None
    return mapping(
        {
            "kind": scalar("ConfigMap", configs),
            "metadata": mapping({"name": scalar("configs", configs)}, configs),
            "data": configs,
        },
        configs,
    )


def _image(model: Node) -> Node | None:
    repository, tag = model.at(("repository",)), model.at(("tag",))
    if repository is None or repository.children:
        return None
    suffix = "" if tag is None else f":{text_of(tag)}"
    return scalar(f"{text_of(repository)}{suffix}", repository)


def _command(values: Node, model: Node) -> Iterator[Node]:
    """``vllm serve`` with all arguments; the chart gives no ``args``."""
    yield scalar("vllm", model)
    yield scalar("serve", model)
    url = model.at(("modelURL",))
    if url is not None:
        yield scalar(text_of(url), url)
    port = values.at(("servingEngineSpec", "containerPort"))
    for word in ("--host", "0.0.0.0", "--port", _PORT if port is None else text_of(port)):  # noqa: S104
        yield scalar(word, port if port is not None and word.isdigit() else model)
    yield from _switches(model)
    vllm = model.at(("vllmConfig",))
    if vllm is not None and is_true(vllm):
        yield from _of_vllm_config(vllm, _at_key(model, "vllmConfig", vllm))
    yield from _transfer(model)
    template = model.at(("chatTemplate",))
    if template is not None and is_true(template):
        yield scalar("--chat-template", template)
        yield scalar(f"/templates/{text_of(template)}", template)


def _switches(model: Node) -> Iterator[Node]:
    for key, option in (
        ("enableLoRA", "--enable-lora"),
        ("enableTool", "--enable-auto-tool-choice"),
    ):
        switch = model.at((key,))
        if switch is not None and is_true(switch):
            yield scalar(option, switch)
    parser = model.at(("toolCallParser",))
    if parser is not None and is_true(parser):
        yield scalar("--tool-call-parser", parser)
        yield scalar(text_of(parser), parser)


def _of_vllm_config(vllm: Node, place: Node) -> Iterator[Node]:
    chunked = vllm.at(("enableChunkedPrefill",))
    if chunked is not None:
        yield scalar(f"--{'' if is_true(chunked) else 'no-'}enable-chunked-prefill", chunked)
    prefix = vllm.at(("enablePrefixCaching",))
    yield scalar(f"--{'' if is_true(prefix) else 'no-'}enable-prefix-caching", prefix or place)
    for key, option in _OPTIONS.items():
        value = vllm.at((key,))
        if value is not None and not value.children:
            yield scalar(option, _at_key(vllm, key, value))
            yield scalar(text_of(value), value)
    for argument in items_at(vllm, "extraArgs"):
        if not argument.children:
            yield scalar(text_of(argument), argument)
    revision = vllm.at(("revision",))
    if revision is not None and is_true(revision):
        yield scalar("--revision", _at_key(vllm, "revision", revision))
        yield scalar(text_of(revision), revision)


def _transfer(model: Node) -> Iterator[Node]:
    lmcache = model.at(("lmcacheConfig",))
    enabled = None if lmcache is None else lmcache.at(("enabled",))
    if lmcache is None or enabled is None or not is_true(enabled):
        return
    role = text_at(lmcache, "kvRole") or "kv_both"
    version = model.at(("vllmConfig", "v0"))
    if "enablePD" in lmcache.children:
        port = lmcache.at(("rpcPort",)) or lmcache.at(("nixlRole",))
        text = (
            f'{{"kv_connector":"LMCacheConnectorV1","kv_role":"{role}","kv_connector_extra_config":'
            f'{{"discard_partial_chunks": false, "lmcache_rpc_port": '
            f'"{"" if port is None else text_of(port)}"}}}}'
        )
    elif version is not None and text_of(version) == "1":
        text = f'{{"kv_connector":"LMCacheConnector","kv_role":"{role}"}}'
    else:
        text = f'{{"kv_connector":"LMCacheConnectorV1","kv_role":"{role}"}}'
    yield scalar("--kv-transfer-config", enabled)
    yield scalar(text, enabled)


def _environment(values: Node, model: Node) -> Iterator[Node]:
    """The chart's variables, then the operator's, then those of ``lmcacheConfig``, which win."""
    yield _not_known("PYTHONHASHSEED", "(by its version)", model)
    yield _variable("HF_HOME", "/data" if "pvcStorage" in model.children else "/tmp", model)  # noqa: S108
    yield _not_known("POD_IP", "status.podIP", model)
    if is_true(token := model.at(("hf_token",))) and token is not None:
        yield _not_known("HF_TOKEN", "hf_token", token)
    if is_true(key := values.at(("servingEngineSpec", "vllmApiKey"))) and key is not None:
        yield _not_known("VLLM_API_KEY", "vllmApiKey", key)
    yield from items_at(values, "servingEngineSpec", "env")
    yield from items_at(model, "env")
    lmcache = model.at(("lmcacheConfig",))
    if lmcache is not None and lmcache.children:
        yield from _of_lmcache(values, lmcache)


def _of_lmcache(values: Node, lmcache: Node) -> Iterator[Node]:
    yield from _same(lmcache, {"cudaVisibleDevices": "CUDA_VISIBLE_DEVICES"})
    switch = lmcache.at(("enablePD",))
    if switch is not None and is_true(switch):
        for key, name, value in (
            ("localCpu", "LMCACHE_LOCAL_CPU", "False"),
            ("maxLocalCpuSize", "LMCACHE_MAX_LOCAL_CPU_SIZE", "0"),
        ):
            own = lmcache.at((key,))
            yield _variable(name, value, switch) if own is None else _not_known(name, key, own)
        yield _variable("LMCACHE_REMOTE_SERDE", "NULL", switch)
        yield _variable("UCX_TLS", "cuda_ipc,cuda_copy,tcp", switch)
        yield from _switched(lmcache, _OF_NIXL_SWITCHES)
        yield from _same(lmcache, _OF_NIXL)
    cpu = lmcache.at(("cpuOffloadingBufferSize",))
    if cpu is not None and integer_of(cpu) > 0:
        yield _variable("LMCACHE_LOCAL_CPU", "True", cpu)
        yield _variable("LMCACHE_MAX_LOCAL_CPU_SIZE", text_of(cpu), cpu)
    yield from _same(lmcache, {"diskOffloadingBufferSize": "LMCACHE_MAX_LOCAL_DISK_SIZE"})
    server = values.at(("cacheserverSpec",))
    if server is not None and server.children:
        enabled = server.at(("enabled",))
        if enabled is None or is_true(enabled):
            port = server.at(("servicePort",))
            url = f"lm://RELEASE-cache-server-service:{'' if port is None else text_of(port)}"
            yield _not_known("LMCACHE_REMOTE_URL", url, server)
            if (serde := server.at(("serde",))) is not None and is_true(serde):
                yield _variable("LMCACHE_REMOTE_SERDE", text_of(serde), serde)
    yield from _switched(lmcache, {"enableController": "LMCACHE_ENABLE_CONTROLLER"})
    if "instanceId" not in lmcache.children:
        yield _not_known("LMCACHE_LMCACHE_INSTANCE_ID", "metadata.name", lmcache)
    yield from _same(lmcache, _OF_CONTROLLER)
    for key, (name, text) in _OF_ANOTHER_RELEASE.items():
        if (port := lmcache.at((key,))) is not None:
            yield _not_known(name, f"{text}{text_of(port)}", port)


def _same(lmcache: Node, variables: dict[str, str]) -> Iterator[Node]:
    for key, name in variables.items():
        value = lmcache.at((key,))
        if value is not None and not value.children:
            yield _variable(name, text_of(value), value)


def _switched(lmcache: Node, variables: dict[str, str]) -> Iterator[Node]:
    for key, name in variables.items():
        if (value := lmcache.at((key,))) is not None:
            yield _variable(name, "True" if is_true(value) else "False", value)


def _env_from(values: Node, model: Node) -> Iterator[Node]:
    if (configs := config_map(values)) is not None:
        yield mapping({"configMapRef": mapping({"name": scalar("configs", configs)}, model)}, model)
    secret = model.at(("envFromSecret",))
    if secret is not None and is_true(secret):
        yield mapping({"secretRef": secret}, secret)


def _variable(name: str, value: str, at: Node) -> Node:
    return mapping({"name": scalar(name, at), "value": scalar(value, at)}, at)


def _not_known(name: str, what: str, at: Node) -> Node:
    """A variable whose value the chart takes from elsewhere, or not in every version."""
    source = mapping({"chart": mapping({"fieldPath": scalar(what, at)}, at)}, at)
    return mapping({"name": scalar(name, at), "valueFrom": source}, at)


def _resources(model: Node) -> Node | None:
    own = model.at(("resources",))
    if own is not None and own.children:
        return own
    count = model.at(("requestGPU",))
    kind = text_at(model, "requestGPUType") or GPUS
    gpus = {kind: scalar(text_of(count), count)} if count is not None and integer_of(count) else {}
    limits = {"memory": model.at(("limitMemory",)), "cpu": model.at(("limitCPU",)), **gpus}
    return mapping({"limits": mapping(limits, model)}, model)


def _shm(model: Node, at: Node) -> Node:
    size = model.at(("shmSize",))
    limit = scalar(_SHM, at) if size is None or not is_true(size) else size
    memory = mapping({"medium": scalar("Memory", at), "sizeLimit": limit}, at)
    return mapping({"name": scalar("shm", at), "emptyDir": memory}, at)


def _storage_mount(model: Node) -> Iterator[Node]:
    storage = model.at(("pvcStorage",))
    if storage is not None:
        yield _mount("storage", "/data", storage)


def _mount(name: str, path: str, at: Node) -> Node:
    return mapping({"name": scalar(name, at), "mountPath": scalar(path, at)}, at)


def _affinity(model: Node) -> Node | None:
    own, terms = model.at(("affinity",)), model.at(("nodeSelectorTerms",))
    if own is not None and own.children:
        return own
    if terms is None or not terms.children:
        return None
    required = mapping({"nodeSelectorTerms": terms}, terms)
    inner = mapping({"requiredDuringSchedulingIgnoredDuringExecution": required}, terms)
    return mapping({"nodeAffinity": inner}, terms)


def _at_key(parent: Node, key: str, value: Node) -> Node:
    position = parent.keys.get(key, value.position)
    return Node(value.value, position, value.written)
