"""Names in a profile's open sections: vLLM and LMCache options, LMCache keys, variables."""

import re

from hmactl.sources.node import Route
from hmactl.sources.option_name import option_name
from hmactl.sources.profile_model import LMCACHE_KEY, OPTION_NAME, VARIABLE_NAME
from hmactl.sources.profile_problems import Problems, show
from hmactl.sources.wording import shortened

_OPTION_SECTIONS = ("vllm", "lmcache_server")


def check_names(problems: Problems) -> None:
    """Names that cannot be what their section holds (PRO005), and options given in both spellings
    (PRO003)."""
    for section in _OPTION_SECTIONS:
        _check_options(problems, section)
    taken = {key for _, key, _ in problems.section("lmcache")}
    for route, key, _ in problems.section("lmcache"):
        if not re.fullmatch(LMCACHE_KEY, key):
            likely = key.removeprefix("LMCACHE_").lower().replace("-", "_")
            fits = re.fullmatch(LMCACHE_KEY, likely) is not None
            problems.at_key(
                "PRO005",
                route,
                f"`{shortened(key)}` is not how LMCache writes its keys",
                consequence="LMCache would not find the setting",
                fix=f"write `{shortened(likely)}`"
                if fits
                else "write it in small letters and underscores, such as `chunk_size`",
                instead=likely if fits and likely not in taken else None,
            )
    for route, key, _ in problems.section("env"):
        if not re.fullmatch(VARIABLE_NAME, key):
            problems.at_key(
                "PRO005",
                route,
                f"`{shortened(key)}` cannot be the name of an environment variable",
                consequence="the variable would not reach the server",
                fix="use letters, digits and underscores only, and no digit first",
            )


def _check_options(problems: Problems, section: str) -> None:
    routes: dict[str, Route] = {}
    names = {option_name(key) for _, key, _ in problems.section(section)}
    for route, key, _ in problems.section(section):
        bare = key.lstrip("-")
        if bare != key and re.fullmatch(OPTION_NAME, bare):
            problems.at_key(
                "PRO005",
                route,
                f"the option `{shortened(key)}` is written with dashes in front",
                consequence="hmactl writes the dashes itself, so vLLM would not know the option",
                fix=f"write `{shortened(bare)}`"
                if key.startswith("--")
                else "write the option's long name without dashes",
                instead=bare if key.startswith("--") and option_name(bare) not in names else None,
            )
        elif not re.fullmatch(OPTION_NAME, key):
            problems.at_key(
                "PRO005",
                route,
                f"`{shortened(key)}` cannot be the name of an option",
                consequence="the command line would not hold what was meant",
                fix="write the option's name as the key and its value after `: `",
            )
        else:
            name = option_name(key)
            if name in routes:
                earlier = routes[name]
                line, column = problems.root.key_position(earlier)
                problems.at_key(
                    "PRO003",
                    route,
                    f"`{show(route)}` and `{show(earlier)}` are the same option, already given at "
                    f"line {line}, column {column}",
                    consequence="only the last value counts, and the other is lost",
                    fix="remove one of the two",
                )
                # As for keys of one spelling, the last one stays.
                problems.dropped.discard(route)
                problems.drop(earlier)
            routes[name] = route
