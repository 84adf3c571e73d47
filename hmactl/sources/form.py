"""Which form a text has, told by its content."""

import re

from hmactl.deployment.form import Form
from hmactl.sources.compose.recognise import looks_like_compose
from hmactl.sources.dockerfile.recognise import looks_like_dockerfile
from hmactl.sources.helm.recognise import looks_like_helm
from hmactl.sources.kubernetes.recognise import looks_like_kubernetes
from hmactl.sources.node import Node
from hmactl.sources.recognise import looks_like_lmcache, looks_like_vllm_config
from hmactl.sources.systemd.recognise import looks_like_systemd
from hmactl.sources.yaml_nodes import read_documents

_SHEBANG = re.compile(r"#!\s*/\S*/(env\s+(-\S+\s+)*)?(ba|da|z|k)?sh\b")
_SHELL_LINE = re.compile(
    r"(?m)^\s*(export\s+\w+|set\s+-\w|exec\s|vllm\s+serve|lmcache\s+server|docker\s+run"
    r"|(nohup\s+)?python3?\s+-m\s+(vllm|lmcache)|[A-Z_][A-Z0-9_]*=\S*(\s|$)"
    r"|(tmux|ssh|screen|srun|mpirun|numactl|env|bash|sh)\s.*\b(vllm|lmcache)\b)"
)
_OF_A_PROFILE = frozenset(
    {"connector", "env", "hma", "lmcache", "lmcache_server", "name", "target", "vllm"}
)


def form_of(text: str) -> Form | None:
    """The form of a text; None where it is none that hmactl reads.

    Never raises, whatever the text.
    """
    if _SHEBANG.match(text):
        return Form.SHELL
    if looks_like_dockerfile(text):
        return Form.DOCKERFILE
    if looks_like_systemd(text):
        return Form.SYSTEMD
    documents = read_documents("", text, of_others=True)
    roots = [d.root for d in documents if d.root is not None and isinstance(d.root.value, dict)]
    for root in roots:
        if (form := _form_of_mapping(root)) is not None:
            return form
    if not roots and "```" not in text and _SHELL_LINE.search(text):
        return Form.SHELL
    return None


def _form_of_mapping(root: Node) -> Form | None:
    value = root.value
    if not isinstance(value, dict):
        return None
    if looks_like_kubernetes(root):
        return Form.KUBERNETES
    if looks_like_helm(root):
        return Form.HELM
    if looks_like_compose(root):
        return Form.COMPOSE
    if "model" in value and (len(value) == 1 or _OF_A_PROFILE.intersection(value)):
        return Form.PROFILE
    if looks_like_vllm_config(root):
        return Form.VLLM
    if looks_like_lmcache(root):
        return Form.LMCACHE
    return None
