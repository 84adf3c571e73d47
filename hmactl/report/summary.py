"""One paragraph on a deployment that is about to be launched, and its findings."""

from hmactl.deployment.size import format_gib
from hmactl.report.finding_text import Style, plain
from hmactl.report.model import DeploymentReport, Report
from hmactl.report.text import render_findings
from hmactl.verdict.verdict import HMA_OFF


def render_summary(report: Report, style: Style = plain) -> str:
    """What was decided and what to expect, one paragraph per deployment, then the findings."""
    lines = []
    for one in report.deployments:
        lines.append(f"hmactl: {' '.join(_sentences(one))}")
        lines += render_findings(one.findings, style)
    return "\n".join(lines)


def _sentences(one: DeploymentReport) -> list[str]:
    decision = one.verdict.decision
    flag = f" ({one.verdict.flag})" if one.verdict.flag else ""
    sentences = [f"{one.name}: {decision}{flag}, {one.verdict.reason}."]
    if one.plan is None or one.verdict.flag is None:
        return sentences
    side = one.plan.hma_off if one.verdict.flag == HMA_OFF else one.plan.hma_on
    memory = format_gib(one.plan.kv_cache_memory_bytes)
    if side.tokens is None or side.max_concurrency is None:
        sentences.append(f"It does not start with {memory} of KV cache memory.")
    else:
        about = "about " if one.plan.memory_origin == "estimated" else ""
        sentences.append(
            f"Expect {about}{side.tokens:,} tokens of KV cache in {len(side.groups)} groups, "
            f"{side.max_concurrency:.2f}x of {side.max_model_len or 0:,} tokens, in {memory}."
        )
    return sentences
