"""The command leaves HMA to vLLM, which decides otherwise than it could.

What: neither `--disable-hybrid-kv-cache-manager` nor its `--no-` form is written. Left to itself,
this vLLM switches HMA off with any connector, although the one that loads supports it; or it fails,
although one of the two works. The default changed several times: `hmactl check` asks the installed
vLLM. (A profile leaves nothing to vLLM: `hmactl serve` writes the flag.)

Why: with HMA off a model with sliding windows or the like loses a good part of its KV cache, with
one warning line; and some models do not start.

Failing example: on vLLM 0.21, `vllm serve openai/gpt-oss-20b --kv-transfer-config
'{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'` (its OffloadingConnector
supports HMA).

Passing example: the same with `--no-disable-hybrid-kv-cache-manager`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.form import Form
from hmactl.deployment.policy import HmaPolicy
from hmactl.finding import Change, Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.wording import capacity_loss
from hmactl.verdict.verdict import Decision, EngineDefault

ID = "HMA013"
SEVERITY = Severity.WARNING

_AS_DECIDED = {Decision.KEEP: EngineDefault.ON, Decision.DISABLE: EngineDefault.OFF}


def check(case: Case) -> Iterator[Finding]:
    """One finding where the flag of the verdict has to be written to come true."""
    deployment, verdict, plan = case.facts.deployment, case.verdict, case.facts.answer.plan
    if deployment.form is Form.PROFILE or deployment.hma is not HmaPolicy.AUTO or plan is None:
        return
    wanted = _AS_DECIDED.get(verdict.decision)
    if wanted is None or verdict.flag is None or verdict.engine_default in {None, wanted}:
        return
    fails = verdict.engine_default is EngineDefault.FAILS
    done = "fails" if fails else f"switches HMA {verdict.engine_default}"
    yield Finding(
        ID,
        SEVERITY,
        f"left to itself, vLLM {case.facts.answer.versions.vllm} {done}: {verdict.reason}",
        "the server does not start" if fails else capacity_loss(plan),
        f"add `{verdict.flag}`",
        case.connector_origin,
        edit_at(case.connector_origin, KV_TRANSFER_CONFIG, verdict.flag, change=Change.ADD),
    )
