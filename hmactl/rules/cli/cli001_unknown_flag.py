"""A vLLM option does not exist in this version.

What: `vllm serve` has no such option.

Why: vLLM ends with "unrecognized arguments" after 10 to 20 seconds of imports.

Failing example: `max-model-length: 8192`.

Passing example: `max-model-len: 8192`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.misspelt import meant, renamed_option

ID = "CLI001"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each option that vLLM's parser does not have."""
    taken = {setting.name for setting in case.facts.deployment.vllm}
    version = case.facts.answer.versions.vllm
    for problem in case.facts.answer.flag_problems:
        if problem.kind not in {"unknown", "not-boolean"}:
            continue
        similar = ", ".join(f"`{name}`" for name in problem.similar)
        if problem.kind == "not-boolean":
            message = f"`{problem.message}` does not exist: that option cannot be switched off"
            fix = "leave it out"
        else:
            message = f"vLLM {version} has no option `{problem.message}`"
            fix = f"similar options exist: {similar}" if similar else "remove it"
        origin = case.nth_flag_origin(problem.index)
        name = problem.message.removeprefix("--")
        near = [one.removeprefix("--") for one in problem.similar]
        yield Finding(
            ID,
            SEVERITY,
            message,
            "`vllm serve` ends with a usage error",
            fix,
            origin,
            renamed_option(origin, name, meant(name, near, taken)),
        )
