"""LMCache does not understand the address of the remote store.

What: no adapter of the installed LMCache takes that address, or the one that does finds no host or
no port in it. Many need both: `lm://host:65432`.

Why: LMCache logs one warning, "Failed to initialize/re-establish remote connection", and goes on
without the store. Nothing is stored there and nothing is found.

Failing example: `lmcache: {remote_url: "cache:65432"}`.

Passing example: `lmcache: {remote_url: "lm://cache:65432"}`.

Source: `ConnectorManager` and its adapters in the installed LMCache, which are asked;
https://github.com/LMCache/LMCache/issues/2581.

Since: 0.1.0.
"""

from collections.abc import Iterator

from hmactl.finding import Finding, Severity
from hmactl.rules.case import Case
from hmactl.rules.lmc.in_process import as_written, in_process_settings, origin_of
from hmactl.rules.lmc.lmc021_word_for_nothing import says_nothing

ID = "LMC022"
SEVERITY = Severity.ERROR

_PLUGIN = "plugin://"


def check(case: Case) -> Iterator[Finding]:
    """One finding for each store that LMCache would go on without."""
    if (settings := in_process_settings(case)) is None:
        return
    for address, refusal in settings.remotes.items():
        if refusal is None or says_nothing(address):
            continue
        key = "remote_storage_plugins" if address.startswith(_PLUGIN) else "remote_url"
        yield Finding(
            ID,
            SEVERITY,
            f"LMCache does not understand {as_written(case, key)}: {refusal}",
            "it logs one warning and goes on without the store",
            _FIXES[key],
            origin_of(case, key),
        )


_FIXES = {
    "remote_url": "an address that LMCache knows: `lm://host:65432` or `redis://host:6379`",
    "remote_storage_plugins": "a plugin that LMCache brings along (`fs`, `redis`), or "
    "`remote_storage_plugin.NAME.module_path` and `.class_name` in `extra_config`",
}
