"""The serializer of the remote store, or blending, does not work with MLA.

What: models with MLA (DeepSeek and its like) need `remote_serde: naive`, and do not work with
blending layer by layer.

Why: LMCache fails to initialise ("MLA only works with naive serde mode") and the server goes on
without it.

Failing example: DeepSeek-V3 with `lmcache: {remote_serde: cachegen}`.

Passing example: the same with `remote_serde: naive`, or nothing.

Source: `validate_mla_config` in LMCache 0.5.6.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of

ID = "LMC033"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding where a model with MLA has another serializer than the plain one."""
    settings, answer = in_process_settings(case), case.facts.answer
    if settings is None:
        return
    mla = any("MLA" in kind.spec for stage in answer.layers for kind in stage)
    if mla and settings.values.get("remote_serde") not in (None, "naive"):
        yield Finding(
            ID,
            SEVERITY,
            f"{as_written(case, 'remote_serde')} does not work with MLA",
            "LMCache fails to initialise and the server goes on without it",
            "`remote_serde: naive`",
            origin_of(case, "remote_serde"),
        )
    if mla and settings.values.get("use_layerwise") and settings.values.get("enable_blending"):
        yield Finding(
            ID,
            SEVERITY,
            "`enable_blending` layer by layer does not work with MLA",
            "LMCache fails to initialise and the server goes on without it",
            "`enable_blending: false`",
            origin_of(case, "enable_blending"),
        )
