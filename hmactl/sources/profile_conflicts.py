"""Settings of a profile that contradict another, or that belong under another key."""

from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.policy import asked_by_option
from hmactl.deployment.setting import Json
from hmactl.sources.node import Route
from hmactl.sources.option_name import option_name
from hmactl.sources.profile_problems import Problems, show

_OWN_KEYS = {
    "kv_connector": "name",
    "kv_role": "role",
    "kv_connector_module_path": "module_path",
    "kv_connector_extra_config": "extra_config",
}


def check_conflicts(problems: Problems) -> None:
    """Two places for one setting, and settings that hmactl writes itself (PRO007)."""
    content = problems.usable()
    for route, key, value in problems.section("vllm"):
        _check_option(problems, content, route, option_name(key), value)
    _check_connector(problems, ("connector",), content.get("connector"))
    lmcache = {key: route for route, key, _ in problems.section("lmcache")}
    for route, variable, _ in problems.section("env"):
        key = variable.removeprefix("LMCACHE_").lower()
        if variable.startswith("LMCACHE_") and key in lmcache:
            line = problems.root.key_position(lmcache[key]).line
            problems.at_key(
                "PRO007",
                route,
                f"`{variable}` and `lmcache: {key}` (line {line}) are the same setting",
                consequence="LMCache gets only one of the two values",
                fix=f"keep `lmcache: {key}` and remove `{variable}`",
            )


def _check_option(
    problems: Problems, content: dict[str, Json], route: Route, name: str, value: Json
) -> None:
    if name in {"model", "model-tag"}:
        problems.at_key(
            "PRO007",
            route,
            f"the model is named under `{show(route)}`",
            consequence="vLLM would be given the model twice",
            fix="name the model in the top-level key `model`",
        )
    elif (policy := asked_by_option(name, value)) is not None:
        problems.at_key(
            "PRO007",
            route,
            f"hmactl writes `--{name}` itself, from `hma:`",
            consequence="two such flags could contradict each other",
            fix=f"remove it and write `hma: {policy}`, or `hma: auto` to let hmactl decide",
        )
    elif name.partition(".")[0] == KV_TRANSFER_CONFIG and "connector" in content:
        line = problems.root.key_position(("connector",)).line
        problems.at_key(
            "PRO007",
            route,
            f"`{show(route)}` and `connector` (line {line}) both say which connector to use",
            consequence="vLLM would be given two connectors and take only one",
            fix=f"keep `connector`, and move what it lacks there from `{show(route)}`",
        )


def _check_connector(problems: Problems, route: Route, connector: Json) -> None:
    if not isinstance(connector, dict):
        return
    options = connector.get("options")
    for name in options if isinstance(options, dict) else ():
        if name in _OWN_KEYS:
            problems.at_key(
                "PRO007",
                (*route, "options", name),
                f"`{name}` stands under `options`, although `connector` has a key for it",
                consequence="it would override that key",
                fix=f"write it as `{_OWN_KEYS[name]}:` of the connector",
            )
    extra = connector.get("extra_config")
    children = connector.get("children")
    if isinstance(extra, dict) and "connectors" in extra and children:
        line = problems.root.key_position((*route, "children")).line
        problems.at_key(
            "PRO007",
            (*route, "extra_config", "connectors"),
            f"`extra_config: connectors` and `children` (line {line}) are the same setting",
            consequence="the children replace what stands in `extra_config`",
            fix="keep `children` and remove `connectors`",
        )
    if isinstance(children, list):
        for index, child in enumerate(children):
            _check_connector(problems, (*route, "children", index), child)
