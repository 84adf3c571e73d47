"""This combination of versions and settings is known to fail.

What: operators have reported it for these very releases, and the cause was confirmed. It starts, or
looks as if it would, and fails later.

Why: what happens is in the finding; so is what helps.

Failing example: `gds_path` and `enable_async_loading` with LMCache 0.4.4.

Passing example: the same with LMCache 0.5.6, of which nothing is known.

Source: the thread that the finding names; all of them are in hmactl's catalogue of known issues.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.catalogue.known_issues import KnownIssue, known_issues
from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case

ID = "VER001"
SEVERITY = Severity.WARNING


def check(case: Case) -> Iterator[Finding]:
    """One finding for each known issue all of whose parts are there."""
    versions = case.facts.answer.versions
    for issue in known_issues():
        if not _holds(issue, case) or not issue.concerns(versions.vllm, versions.lmcache):
            continue
        releases = [f"vLLM {versions.vllm}"] if issue.vllm else []
        releases += [f"LMCache {versions.lmcache}"] if issue.lmcache else []
        yield Finding(
            ID,
            SEVERITY,
            f"known issue of {' with '.join(releases)} in this combination: {issue.source}",
            issue.symptom,
            issue.fix,
            case.connector_origin,
        )


def _holds(issue: KnownIssue, case: Case) -> bool:
    answer = case.facts.answer
    if issue.connectors and not case.facts.connector_classes & set(issue.connectors):
        return False
    if issue.bundled and not _bundled(issue, case):
        return False
    if issue.settings:
        values = {} if answer.lmcache is None else answer.lmcache.values
        if not all(values.get(key) for key in issue.settings):
            return False
    if issue.server_options and not _of_the_server(issue, case):
        return False
    if issue.several_groups and case.facts.groups < 2:
        return False
    return _of_the_model(issue, case)


def _bundled(issue: KnownIssue, case: Case) -> bool:
    connector = case.facts.answer.connector
    return connector is not None and any(
        each.name in issue.connectors and (each.module or "").startswith("vllm.")
        for each in connector.walk()
    )


def _of_the_server(issue: KnownIssue, case: Case) -> bool:
    server = case.facts.deployment.lmcache_server
    options = {} if server is None else {option.name: option.value for option in server.options}
    return (
        all(options.get(name, False) is not False for name in issue.server_options)
        and not any(
            options.get(name) is False or f"no-{name}" in options for name in issue.unless_off
        )
        and issue.l2_adapter_mentions in str(options.get("l2-adapter", ""))
    )


def _of_the_model(issue: KnownIssue, case: Case) -> bool:
    config = case.facts.answer.config
    if not (issue.architectures or issue.mamba or issue.speculative):
        return True
    if config is None:
        return False
    kinds = {layer.spec for stage in case.facts.answer.layers for layer in stage}
    method = "" if config.speculative is None else config.speculative.method or ""
    return (
        (not issue.architectures or bool(set(issue.architectures) & set(config.architectures)))
        and (not issue.mamba or (config.mamba_cache_mode == issue.mamba and "MambaSpec" in kinds))
        and (not issue.speculative or any(part in method for part in issue.speculative))
    )
