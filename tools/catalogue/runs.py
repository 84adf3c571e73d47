"""The data file: facts per version, kept as runs of versions that say the same."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version

from hmactl.catalogue.connector_versions import by_version

Facts = dict[str, Any]
ABOUT = (
    "Connectors and HMA per release, read from the source in released wheels by `python -m "
    "tools.catalogue connectors`; not edited by hand. `versions` names the wheel's distribution "
    "of each version that was read; a run holds for each of those from `from` to `to`, and says "
    "nothing about others. supports_hma: whether the class subclasses SupportsHMA; null: it "
    "cannot be told; resolved: found out when the module is imported: `else` if the environment "
    "variable `variable` is not empty or `tries` cannot be imported, otherwise `tries`. imports: "
    "what of the other package, as module:name, the class cannot be imported without. "
    "of_children: it descends from MultiConnector. names: whether such a thing is there. rules: "
    "`interface` whether SupportsHMA exists; `module_path` which wins for a registered name with "
    "kv_connector_module_path; `with_connector` what becomes of HMA by default where a connector "
    "is configured; `multi` where MultiConnector's children are asked, all of which must support "
    "HMA, and what no children come to (null: MultiConnector itself does not); `decision` what "
    "else switches HMA off (`off_by`; `variable` allows chunked local attention), what becomes of "
    "an explicit enable then, what needs HMA, the platforms with it, and whether a connector "
    "without it is refused when it is created; `offloading` which connector the backends of "
    "kv_offloading_size stand for, `instead` if `variable` is set, whether it gets the size, and "
    "whether that is before or after HMA is decided; `constructor` what becomes of a class of a "
    "kv_connector_module_path that takes no kv_cache_config, as one with old_constructor does."
)
# What brings the classes; the other facts that are kept by a name are `names`.
CLASSES = {"vllm": "connectors", "lmcache": "classes"}
NAMES = "names"
_OTHER = {"vllm": "lmcache", "lmcache": "vllm"}
_RULES = "rules"


def expand(data: Facts, package: str) -> dict[str, Facts]:
    """Facts of each version, from the data file's own form."""
    part = data.get(package, {"versions": {}})
    versions = sorted(part["versions"], key=Version)
    releases: dict[str, Facts] = {
        version: {"wheel": part["versions"][version], CLASSES[package]: {}, NAMES: {}}
        for version in versions
    }
    for kind in (CLASSES[package], NAMES):
        for name, runs in part.get(kind, {}).items():
            for version, facts in by_version(runs, versions):
                releases[version][kind][name] = facts
    for version, facts in by_version(part.get(_RULES, []), versions):
        releases[version][_RULES] = facts
    return releases


def compact(packages: dict[str, dict[str, Facts]]) -> Facts:
    """The data file's form of the facts of each version of each package."""
    data: Facts = {"about": ABOUT}
    for package, releases in packages.items():
        versions = sorted(releases, key=Version)
        part: Facts = {"versions": {v: releases[v]["wheel"] for v in versions}}
        if any(_RULES in release for release in releases.values()):
            part[_RULES] = as_runs([(v, releases[v].get(_RULES)) for v in versions])
        kinds = {
            CLASSES[package]: {n for r in releases.values() for n in r[CLASSES[package]]},
            NAMES: asked(packages, package),
        }
        for kind, names in kinds.items():
            part[kind] = {
                name: as_runs([(v, releases[v][kind].get(name)) for v in versions])
                for name in sorted(names)
            }
        data[package] = part
    return data


def asked(packages: dict[str, dict[str, Facts]], package: str) -> set[str]:
    """What the classes of the other package import from this one."""
    other = _OTHER[package]
    return {
        name
        for release in packages.get(other, {}).values()
        for facts in release[CLASSES[other]].values()
        for name in facts.get("imports", ())
    }


def write(data: Facts, path: Path) -> None:
    """The file, a run on a line, the same for the same facts."""
    path.write_text(_dump(data, 0) + "\n", "utf-8")


def as_runs(series: Iterable[tuple[str, Facts | None]]) -> list[Facts]:
    """Facts of versions in their order, as runs of versions that say the same; None: no facts."""
    found: list[Facts] = []
    previous: Facts | None = None
    for version, facts in series:
        if facts is not None:
            if facts == previous:
                found[-1]["to"] = version
            else:
                found.append({"from": version, "to": version, **facts})
        previous = facts
    return found


def _dump(value: Any, depth: int) -> str:
    """JSON that is indented down to the runs; those of `names`, which are short, on one line."""
    inner = "  " * (depth + 1)
    if isinstance(value, dict) and "from" not in value and depth < 3:
        items = [f"{inner}{json.dumps(k)}: {_dump(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + "  " * depth + "}"
    if isinstance(value, list) and not any("there" in run for run in value):
        items = [f"{inner}{_dump(item, depth + 1)}" for item in value]
        return "[\n" + ",\n".join(items) + "\n" + "  " * depth + "]"
    return json.dumps(value, ensure_ascii=False)
