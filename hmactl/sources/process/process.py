"""A process as some form of configuration describes it."""

from dataclasses import dataclass, field

from hmactl.deployment.deployment import Target
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.setting import Unknown
from hmactl.finding import Finding
from hmactl.sources.process.word import Variable, Word


@dataclass(frozen=True, slots=True)
class Process:
    """What a reader of shell scripts, manifests and the like hands on: a command and its world.

    ``argv`` is the whole command, wrappers such as ``env`` or ``exec`` included; where an image's
    own entrypoint runs, the reader puts ``vllm serve`` in front. ``environment`` has the variables
    in the order in which they take effect, ``unknown`` what may be set besides, such as the keys of
    a Secret. ``target`` is what the form says about the machine: host memory, GPUs, version pins.
    ``findings`` are the reader's own, about this process.
    """

    source: str
    form: Form
    name: str
    argv: tuple[Word, ...]
    environment: tuple[Variable, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    files: tuple[TextFile, ...] = ()
    target: Target = field(default_factory=Target)
    findings: tuple[Finding, ...] = ()
