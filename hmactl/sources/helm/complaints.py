"""What a chart does with values that do not say so."""

from collections.abc import Iterator

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.helm.go import integer_of, is_true
from hmactl.sources.node import Node
from hmactl.sources.wording import shortened

_TRANSFER = "--kv-transfer-config"


def not_rendered(chart: str, origin: Origin) -> Finding:
    """Values are not yet what runs."""
    return Finding(
        "K8S010",
        Severity.INFO,
        f"these are values of {chart}: what its templates make of them was read from the chart's "
        "source and may differ in your version",
        "what another version adds or leaves out is not seen",
        "check what Helm renders: `helm template CHART -f VALUES | hmactl check -`",
        origin,
    )


def traps(model: Node, source: str) -> Iterator[Finding]:
    """The traps of the production stack in one entry of ``modelSpec``."""
    vllm, lmcache = model.at(("vllmConfig",)), model.at(("lmcacheConfig",))

    def place(*route: str) -> Origin:
        return Origin(source, *model.key_position(route))

    if vllm is not None and vllm.children and "enablePrefixCaching" not in vllm.children:
        yield Finding(
            "K8S011",
            Severity.WARNING,
            "`vllmConfig` without `enablePrefixCaching`: the chart adds "
            "`--no-enable-prefix-caching`",
            "vLLM's own prefix cache is off, which it would not be without the chart",
            "`enablePrefixCaching: true`, or `false` if that is meant",
            place("vllmConfig"),
        )
    if lmcache is None or not lmcache.children:
        return
    enabled = is_true(lmcache.at(("enabled",)))
    switch = lmcache.at(("enablePD",))
    if enabled and switch is not None and not is_true(switch):
        yield Finding(
            "K8S012",
            Severity.WARNING,
            "`enablePD: false`: the chart only looks whether the key is there, and starts vLLM as "
            "for prefill and decode",
            "vLLM gets `discard_partial_chunks: false` and an `lmcache_rpc_port` from `nixlRole`",
            "remove the key `enablePD`",
            place("lmcacheConfig", "enablePD"),
        )
    disk = lmcache.at(("diskOffloadingBufferSize",))
    if enabled and disk is not None and is_true(disk) and not _sets(model, "LMCACHE_LOCAL_DISK"):
        yield Finding(
            "K8S013",
            Severity.WARNING,
            "`diskOffloadingBufferSize` sets a size only: the chart never sets LMCACHE_LOCAL_DISK",
            "LMCache makes no disk store",
            "add LMCACHE_LOCAL_DISK with a directory to `env`",
            place("lmcacheConfig", "diskOffloadingBufferSize"),
        )
    cpu = lmcache.at(("cpuOffloadingBufferSize",))
    if cpu is not None and is_true(cpu) and cpu.written != "0" and integer_of(cpu) == 0:
        yield Finding(
            "K8S014",
            Severity.WARNING,
            f"`cpuOffloadingBufferSize: {shortened(cpu.written)}` is 0 to the chart, which wants a "
            "whole number",
            "it is dropped: LMCache keeps its default of 5 GB of host memory",
            "write a whole number of GB; or set LMCACHE_MAX_LOCAL_CPU_SIZE in `env`",
            place("lmcacheConfig", "cpuOffloadingBufferSize"),
        )
    own = _own_transfer(model)
    if enabled and own is not None:
        yield Finding(
            "K8S015",
            Severity.ERROR,
            f"`{_TRANSFER}` in `extraArgs` is overridden by the one that `lmcacheConfig` makes",
            "vLLM takes the last of the two, which is the chart's LMCacheConnectorV1",
            "`lmcacheConfig: {enabled: false}`, or remove it from `extraArgs`",
            Origin(source, *own.position),
        )


def _own_transfer(model: Node) -> Node | None:
    arguments = model.at(("vllmConfig", "extraArgs"))
    if arguments is None or not isinstance(arguments.value, list):
        return None
    names = (
        (n.written.partition("=")[0].replace("_", "-"), n) for n in arguments.children.values()
    )
    return next((node for name, node in names if name == _TRANSFER), None)


def _sets(model: Node, variable: str) -> bool:
    env = model.at(("env",))
    names = () if env is None else (node.at(("name",)) for node in env.children.values())
    return any(name is not None and name.value == variable for name in names)
