"""What is wrong with a profile, in an operator's words and at its place."""

from collections.abc import Sequence
from difflib import get_close_matches

from hmactl.deployment.slip import is_slip
from hmactl.sources.node import Node, Route
from hmactl.sources.profile_model import ConnectorModel, ProfileModel, TargetModel
from hmactl.sources.profile_problems import NOT_USED, Problems, show
from hmactl.sources.profile_shape import Complaint, Misfit, MissingKey, Mistake, UnknownKey, keys_of
from hmactl.sources.wording import shortened

_SECTIONS: dict[str, type] = {"connector": ConnectorModel, "target": TargetModel}


def explain_mistakes(problems: Problems, mistakes: Sequence[Mistake]) -> None:
    """One finding for each mistake: PRO004, PRO005 or PRO006."""
    for mistake in mistakes:
        match mistake:
            case MissingKey(route, key):
                _explain_missing(problems, route, key)
            case UnknownKey(route):
                _explain_unknown(problems, route)
            case Misfit(route, complaint):
                _explain_value(problems, route, complaint)


def _explain_missing(problems: Problems, route: Route, key: str) -> None:
    if problems.root.at((*route, key)) is not None:
        return  # it was there, and what is wrong with it has its own finding
    if route:
        problems.at_key(
            "PRO006",
            route,
            f"`{show(route)}` has no `{key}`",
            consequence=NOT_USED,
            fix=f"add for example `{key}: LMCacheConnectorV1`",
        )
    else:
        problems.at_key(
            "PRO006",
            route,
            f"the profile has no `{key}`",
            consequence="there is nothing to check and nothing to serve",
            fix=f"add for example `{key}: google/gemma-3-4b-it`",
        )


def _explain_unknown(problems: Problems, route: Route) -> None:
    section, key = route[:-1], str(route[-1])
    known = _known_keys(section)
    near = get_close_matches(key.lower().replace("-", "_"), known, 2)
    slips = [name for name in near if is_slip(key, name)]
    beside = problems.root.at(section)
    taken = () if beside is None else beside.keys
    problems.at_key(
        "PRO004",
        route,
        f"{f'`{show(section)}`' if section else 'a profile'} has no key `{show((key,))}`",
        consequence="it would have no effect, so nothing starts until it is corrected",
        fix=f"a similar key exists: `{near[0]}`" if near else _home_of(section, key),
        instead=slips[0] if len(slips) == 1 and slips[0] not in taken else None,
    )


def _known_keys(section: Route) -> list[str]:
    return list(keys_of(_SECTIONS[str(section[0])] if section else ProfileModel))


def _home_of(section: Route, key: str) -> str:
    homes = [name for name in _SECTIONS if key in _known_keys((name,))]
    if section and key in keys_of(ProfileModel):
        return "write it at the top level of the profile"
    if homes and homes[0] not in section:
        return f"write it under `{homes[0]}:`"
    if section[:1] == ("connector",):
        return (
            "write the connector's own keys under `extra_config:`, and further fields of "
            "KVTransferConfig under `options:`"
        )
    if not section:
        return "write vLLM's options under `vllm:` and LMCache's keys under `lmcache:`"
    return f"remove it; there are {', '.join(f'`{name}`' for name in _known_keys(section))}"


def _explain_value(problems: Problems, route: Route, complaint: Complaint) -> None:
    node = problems.root.at(route) or problems.root
    key = show(route[-1:])

    def fill(text: str) -> str:
        return text.replace("{key}", key).replace("{written}", shortened(node.written))

    if complaint.message is not None:
        message = fill(complaint.message)
    elif node.value is None:
        message = f"`{show(route)}` has no value"
    else:
        message = f"`{show(route)}` must be {complaint.expected}, not {_describe(node)}"
    problems.at_value(
        "PRO005",
        route,
        message,
        consequence=complaint.consequence or NOT_USED,
        fix=fill(complaint.fix),
    )


def _describe(node: Node) -> str:
    match node.value:
        case bool():
            return f"the boolean `{node.written}`"
        case int() | float():
            return f"the number `{node.written}`"
        case "":
            return "empty text"
        case str():
            return f"the text `{shortened(node.written)}`"
        case list():
            return "a list"
    return "a mapping"
