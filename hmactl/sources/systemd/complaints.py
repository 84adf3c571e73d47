"""What only the reader of a unit can see to be wrong."""

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.wording import shortened


def lost_quotes(origin: Origin) -> Finding:
    """JSON that stands in no quotes of its own."""
    return Finding(
        "K8S025",
        Severity.ERROR,
        "systemd removes the double quotes of this JSON",
        "who gets it gets text that is no JSON, and refuses it",
        "put single quotes around the JSON",
        origin,
    )


def not_replaced(written: str, origin: Origin) -> Finding:
    """A variable in a form that systemd does not know."""
    name = written.strip("${}").partition(":")[0]
    if written.startswith("${"):
        fix = f"`${{{name}}}`, with the default in `Environment={name}=...`"
    else:
        fix = f"`${{{name}}}`, or `${name}` as a word of its own"
    return Finding(
        "K8S031",
        Severity.ERROR,
        f"systemd does not replace `{shortened(written)}` here",
        f"the program gets the text `{shortened(written)}` as it stands",
        fix,
        origin,
    )


def no_shell(written: str, origin: Origin) -> Finding:
    """A sign or a word that only a shell understands."""
    return Finding(
        "K8S032",
        Severity.ERROR,
        f"`{shortened(written)}` means nothing in ExecStart: systemd starts no shell",
        "the program gets it as an argument, or systemd takes it for the program",
        "variables go into `Environment=`, the log to `StandardOutput=`; else "
        "`ExecStart=/bin/bash -c '...'`",
        origin,
    )


def literal_dollar(written: str, origin: Origin) -> Finding:
    """A variable in ``Environment=``."""
    return Finding(
        "K8S033",
        Severity.WARNING,
        f"systemd does not replace `{shortened(written)}` in Environment",
        "the text is part of the value: in a search path it is a directory of that name, and what "
        "was on the path before is no longer there",
        "write the value out",
        origin,
    )


def no_path(written: str, origin: Origin) -> Finding:
    """A program that is named by a relative path."""
    return Finding(
        "K8S034",
        Severity.ERROR,
        f"ExecStart names its program by `{shortened(written)}`, which is no absolute path",
        "systemd refuses the unit: neither a valid executable name nor an absolute path",
        "write the path from `/` on, or `%h` for the home directory",
        origin,
    )
