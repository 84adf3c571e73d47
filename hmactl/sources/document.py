"""What a reader makes of one deployment in a text."""

from dataclasses import dataclass

from hmactl.deployment.deployment import Deployment
from hmactl.finding import Finding


@dataclass(frozen=True, slots=True)
class Document:
    """One deployment of a source: a YAML document of a profile, a server of a script.

    ``index`` counts the deployments of the source from 0. ``deployment`` is None where nothing can
    be said about one; otherwise it lacks the settings that findings of severity error are about.
    ``findings`` stand in the order of the file.
    """

    source: str
    index: int
    deployment: Deployment | None
    findings: tuple[Finding, ...]
