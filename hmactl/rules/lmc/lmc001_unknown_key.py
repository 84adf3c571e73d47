"""LMCache does not know a key.

What: the installed LMCache has no such setting, under `lmcache:` or in the file that
LMCACHE_CONFIG_FILE names. In the file the keys are those of `lmcache:`; a variable's name
(`LMCACHE_REMOTE_URL:`) is no key there. Names of older releases are mostly dropped too.

Why: LMCache ignores unknown keys in its configuration file with a warning, and unknown
environment variables without a word. The setting has no effect.

Failing example: `max_local_cpu_sise: 20.0`.

Passing example: `max_local_cpu_size: 20.0`.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity, edit_at
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import in_process_settings
from hmactl.rules.misspelt import meant

ID = "LMC001"
SEVERITY = Severity.ERROR


def check(case: Case) -> Iterator[Finding]:
    """One finding for each key that the installed LMCache does not have."""
    settings = case.facts.answer.lmcache
    if settings is None:
        return
    found = [(s, settings.unknown.get(s.name)) for s in case.facts.deployment.lmcache]
    if case.facts.lmcache_file is not None and in_process_settings(case) is not None:
        of_file = case.facts.lmcache_file.settings
        found += [(s, settings.unknown_in_file.get(s.name)) for s in of_file]
    taken = {setting.name for setting, _ in found}
    for setting, near in found:
        if near is None:
            continue
        similar = ", ".join(f"`{key}`" for key in near)
        name = meant(setting.name, near, taken)
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache {case.facts.answer.versions.lmcache} has no setting `{setting.name}`",
            "it has no effect; LMCache says so in one line of its log at most",
            f"similar settings exist: {similar}" if similar else "remove it",
            setting.origin,
            None if name is None else edit_at(setting.origin, setting.name, name),
        )
