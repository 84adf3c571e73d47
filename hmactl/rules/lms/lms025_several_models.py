"""One LMCache server cannot serve these models.

What: a server has one chunk size, and it has to be a multiple of the block sizes of every model
that it serves: of the least common multiple of all of them.

Why: the connector of the model that does not fit refuses to register, and its vLLM ends after it
has loaded the weights.

Failing example: two documents for the server at the same address, of which one has blocks of 544
tokens and the other of 16, with `chunk-size: 256`.

Passing example: the same with `chunk-size: 544`.

Source: LMCacheMPConnector in LMCache 0.5.6; https://github.com/LMCache/LMCache/issues/4782.

Since: 0.1.0.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from hmactl.deployment.setting import Area
from hmactl.facts.lmcache import option_number
from hmactl.finding import Finding, Severity
from hmactl.rules.blocks import group_blocks, misfit
from hmactl.rules.case import Case
from hmactl.rules.lms.server import served_connectors

ID = "LMS025"
SEVERITY = Severity.ERROR

_ADDRESS = ("host", "port", "server_urls")


def check_together(cases: Sequence[Case]) -> Iterator[tuple[Case, Finding]]:
    """One finding at each deployment that does not fit the server which another one describes."""
    at = [(case, _addresses(case)) for case in cases]
    servers = [(case, size, where) for case, where in at if (size := _chunk_size(case)) is not None]
    for (describes, size, here), (other, there) in product(servers, at):
        if other is describes or not here & there:
            continue
        own, blocks = group_blocks(describes), group_blocks(other)
        if own is None or blocks is None or misfit(int(size), own) is not None:
            continue
        theirs = other.facts.deployment.lmcache_server
        if theirs is not None and theirs.option("chunk-size") is not None:
            continue  # which is held against its own blocks
        if (fit := misfit(int(size), (*own, *blocks))) is None:
            continue
        finding = Finding(
            ID,
            SEVERITY,
            f"the LMCache server of {describes.facts.deployment.name} has chunks of {size:.0f} "
            f"tokens, no multiple of {fit.blocks}",
            "the connector refuses to register, and vLLM ends after loading the weights",
            f"`chunk-size: {fit.nearest}` for both, or another multiple of {fit.multiple}",
            other.connector_origin,
        )
        yield other, finding


def _chunk_size(case: Case) -> float | None:
    """That of the server which the deployment describes."""
    server = case.facts.deployment.lmcache_server
    setting = None if server is None else server.option("chunk-size")
    return None if setting is None else option_number(setting.value)


def _addresses(case: Case) -> set[str]:
    found: set[str] = set()
    deployment = case.facts.deployment
    if any(deployment.is_unknown(Area.CONNECTOR, f"lmcache.mp.{part}") for part in _ADDRESS):
        return found
    for connector in served_connectors(case):
        extra = connector.extra_config
        if not extra.get("lmcache.mp.server_urls"):
            host = str(extra.get("lmcache.mp.host", "tcp://localhost")).rpartition("/")[2]
            found.add(f"{host}:{extra.get('lmcache.mp.port', 5555)}")
    return found
