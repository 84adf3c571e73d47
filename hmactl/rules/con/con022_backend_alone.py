"""`kv-offloading-backend` without a size offloads nothing.

What: since 0.14 vLLM looks at `--kv-offloading-backend` only where `--kv-offloading-size` is given.
Before, it refused the one without the other.

Why: the server runs without any offloading, and nothing says so.

Failing example: `vllm: {kv-offloading-backend: native}`.

Passing example: `vllm: {kv-offloading-backend: native, kv-offloading-size: 10}`.

Source: `_post_init_kv_transfer_config` in vLLM's config, 0.14.1 to 0.33.0.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.connector_versions import releases_around
from hmactl.deployment.setting import Area
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "CON022"
SEVERITY = Severity.WARNING

_BACKEND, _SIZE = "kv-offloading-backend", "kv-offloading-size"


def check(case: Case) -> Iterator[Finding]:
    """One finding where the backend stands alone on a release that then ignores it."""
    deployment, version = case.facts.deployment, case.facts.answer.versions.vllm
    setting = deployment.vllm_setting(_BACKEND)
    if setting is None or deployment.vllm_setting(_SIZE) is not None:
        return
    if deployment.is_unknown(Area.VLLM, _SIZE):
        return
    options = [release.rules.offloading for release in releases_around(version)]
    if not options or any(one is None or one.backend_needed for one in options):
        return
    yield Finding(
        ID,
        SEVERITY,
        f"`{_BACKEND}: {setting.value}` does nothing without `{_SIZE}`",
        "vLLM offloads nothing, and says nothing about it",
        f"`{_SIZE}` with the size in GiB, or no `{_BACKEND}`",
        setting.origin,
    )
