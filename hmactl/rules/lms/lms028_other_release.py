"""The LMCache server is of another release than the connector, and they speak differently.

What: the connector is of the LMCache that is installed beside vLLM, the server may be of another
(an image of its own). Neither looks at the other's version. Up to 0.5.5 requests are numbers, which
moved with nearly every release, as did what a request carries.

Why: the server takes a request for another one, or cannot read it. vLLM waits for an answer and
ends, or nothing is ever stored and found.

Failing example: `target: {lmcache_server_version: "0.5.2"}` with LMCache 0.5.3 beside vLLM.

Passing example: the same release on both sides, or `"0.5.4"` with 0.5.3, which speak alike.

Source: the requests of LMCache 0.4.1 to 0.5.6, read from the released wheels;
https://github.com/LMCache/LMCache/pull/3261.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.lmcache_wire import same_wire
from hmactl.facts.lmcache import is_served
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "LMS028"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding where both releases are known and do not speak alike."""
    deployment, client = case.facts.deployment, case.facts.answer.versions.lmcache
    server = deployment.target.lmcache_server_version
    if server is None or client is None or not is_served(case.facts):
        return
    if same_wire(server, client) is not False:
        return
    described = deployment.lmcache_server
    yield Finding(
        ID,
        SEVERITY,
        f"the LMCache server is {server} and the connector is of LMCache {client}: their requests "
        "differ",
        "the server takes requests for others or cannot read them, and neither says why",
        f"LMCache {client} for the server too",
        case.connector_origin if described is None else described.origin,
    )
