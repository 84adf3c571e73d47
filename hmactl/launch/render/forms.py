"""The forms that a deployment can be rendered in, under the names of `--format`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from hmactl.launch.render.model import OutputFile, Rendered

# A name to its module, and the functions that render and that say what else is needed. Imported
# when needed: JSON needs pydantic, the manifests YAML.
FORMATS = {
    "shell": "shell",
    "json": "json",
    "env": "env_file",
    "systemd": "systemd",
    "compose": "compose",
    "kubernetes": "kubernetes",
}
OF_IMAGES = frozenset({"compose", "kubernetes"})
"""Those whose processes run in a container, on an image's own vLLM."""

MAYBE_OF_IMAGES = frozenset({"env"})
"""Those that are for a container where an image is named, else for this machine."""


@dataclass(frozen=True, slots=True)
class RenderingForm:
    """``render`` raises NotRenderedError; ``notes`` are sentences on what a start needs besides."""

    render: Callable[[Rendered], tuple[OutputFile, ...]]
    notes: Callable[[Rendered], Iterator[str]]


def rendering_form(name: str) -> RenderingForm:
    """The form of that name, one of FORMATS."""
    kind = FORMATS[name]
    module = import_module(f"hmactl.launch.render.{kind if kind != 'json' else 'json_form'}")
    return RenderingForm(getattr(module, f"render_{kind}"), getattr(module, f"{kind}_notes"))
