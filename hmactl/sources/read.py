"""A text in whatever form operators write it, its deployments out."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.form import Form
from hmactl.sources.document import Document
from hmactl.sources.form import form_of
from hmactl.sources.given import Given
from hmactl.sources.kubernetes.template import chart_template
from hmactl.sources.source_text import load_source, problem_of, unreadable
from hmactl.sources.supplied import beside

if TYPE_CHECKING:
    from hmactl.sources.process.process import Process

Reader = Callable[[str, str, Given], tuple["Process", ...]]
# Imported when needed: a lint of manifests needs no parser of shell scripts.
_READERS: dict[Form, str] = {
    Form.COMPOSE: "hmactl.sources.compose.reader:read_compose",
    Form.DOCKERFILE: "hmactl.sources.dockerfile.reader:read_dockerfile",
    Form.HELM: "hmactl.sources.helm.reader:read_helm",
    Form.KUBERNETES: "hmactl.sources.kubernetes.reader:read_kubernetes",
    Form.LMCACHE: "hmactl.sources.lmcache_alone:read_lmcache",
    Form.SHELL: "hmactl.sources.shell.script:read_shell",
    Form.SYSTEMD: "hmactl.sources.systemd.reader:read_systemd",
    Form.VLLM: "hmactl.sources.vllm_alone:read_vllm",
}


def read_path(path: Path, form: Form | None, given: Given, working: Path) -> tuple[Document, ...]:
    """The deployments in a file, in its order; ``working`` is the caller's directory.

    Never raises for what a path can name: a file that cannot be read, or that starts no server, is
    a document with the finding PRO001.
    """
    text = load_source(path)
    if isinstance(text, Document):
        return (text,)
    return read_source(str(path), text, form, beside(given, path.parent, working))


def read_source(
    source: str, text: str, form: Form | None = None, given: Given | None = None
) -> tuple[Document, ...]:
    """The deployments in a text, in its order, or why there is none (PRO001).

    ``source`` is its name in findings. Without ``form`` the content tells which it is; what is
    none of those that hmactl reads is taken for a profile.
    """
    if (problem := problem_of(source, text)) is not None:
        return (problem,)
    text = text.removeprefix("\ufeff")
    form = form or form_of(text)
    if form in {None, Form.KUBERNETES} and (problem := chart_template(source, text)) is not None:
        return (problem,)
    form = form or Form.PROFILE
    if form not in _READERS:
        from hmactl.sources.profile import read_profiles

        return read_profiles(source, text)
    from hmactl.sources.process.deployment import documents

    given = given or Given()
    processes = _reader(form)(source, text, given)
    found = documents(processes, vllm_flags(), given.read_file)
    if not found:
        what = f"was read as {_NAMES[form]} and starts no vLLM server that hmactl can see"
        nothing = unreadable(source, what, "name the file that does, or its form with --as")
        findings = tuple(finding for process in processes for finding in process.findings)
        return (replace(nothing, findings=(*findings, *nothing.findings)),)
    return found


def _reader(form: Form) -> Reader:
    module, _, name = _READERS[form].partition(":")
    reader: Reader = getattr(import_module(module), name)
    return reader


_NAMES = {
    Form.COMPOSE: "a compose file",
    Form.DOCKERFILE: "a Dockerfile",
    Form.HELM: "Helm values",
    Form.KUBERNETES: "Kubernetes manifests",
    Form.LMCACHE: "LMCache's configuration",
    Form.SHELL: "a shell script",
    Form.SYSTEMD: "a systemd unit",
    Form.VLLM: "vLLM's configuration",
}
