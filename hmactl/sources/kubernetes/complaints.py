"""What only the reader of manifests can see to be wrong."""

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity, edit_at
from hmactl.sources.wording import shortened


def not_text(written: str, origin: Origin, where: str) -> Finding:
    """A number or a boolean where the API server wants text."""
    shown = shortened(written)
    return Finding(
        "K8S002",
        Severity.ERROR,
        f"`{shown}` in `{shortened(where)}` is no text to YAML",
        "the API server refuses the object: it takes only strings there",
        f'quote it: `"{shown}"`',
        origin,
        edit_at(origin, written, f'"{written}"'),
    )


def undefined(name: str, origin: Origin, later: bool) -> Finding:
    """``$(NAME)`` of a variable that is not there."""
    message = (
        f"`$({shortened(name)})` stands above the variable that it refers to"
        if later
        else f"`$({shortened(name)})` refers to no variable of the container"
    )
    fix = (
        f"move the entry of `{shortened(name)}` above this one"
        if later
        else f"set `{shortened(name)}` in `env`, or write `$$({shortened(name)})` if it is text"
    )
    return Finding(
        "K8S003",
        Severity.WARNING,
        message,
        "Kubernetes leaves it as it is written, and the program gets the `$(...)` itself",
        fix,
        origin,
    )


def no_such_key(key: str, name: str, origin: Origin) -> Finding:
    """A key that the ConfigMap of the same input has not."""
    return Finding(
        "K8S004",
        Severity.ERROR,
        f"the ConfigMap `{shortened(name)}` has no key `{shortened(key)}`",
        "the container does not start: CreateContainerConfigError",
        "correct the key, add it to the ConfigMap, or say `optional: true`",
        origin,
    )


def not_expanded(name: str, origin: Origin) -> Finding:
    """``$NAME`` or ``${NAME}`` without a shell."""
    shown = shortened(name)
    return Finding(
        "K8S005",
        Severity.WARNING,
        f"`${shown}` is not replaced by Kubernetes, and no shell sees it here",
        "the program gets the name of the variable instead of its value",
        f"write `$({shown})`",
        origin,
    )


def not_in_config_map(path: str, directory: str, origin: Origin) -> Finding:
    """LMCache's file is looked for in a directory that has it not."""
    return Finding(
        "K8S006",
        Severity.ERROR,
        f"LMCACHE_CONFIG_FILE names `{shortened(path)}`, and the ConfigMap that is mounted at "
        f"`{shortened(directory)}` has no such file",
        "an LMCache connector cannot open it, and vLLM ends with FileNotFoundError",
        "correct the path, or the key in the ConfigMap",
        origin,
    )
