"""Whether a YAML document holds the values of a chart that hmactl knows."""

from hmactl.sources.node import Node


def looks_like_helm(root: Node) -> bool:
    """Whether it is the values of the vLLM production stack or of llm-d's modelservice."""
    if "apiVersion" in root.children and "kind" in root.children:
        return False
    return any(True for _ in stacks(root)) or any(True for _ in model_services(root))


def stacks(root: Node) -> list[Node]:
    """The values of the production stack, also where they are those of a chart within a chart."""
    found = (node for node in _levels(root) if node.at(("servingEngineSpec", "modelSpec")))
    return [n for n in found if isinstance(n.value, dict)]


def model_services(root: Node) -> list[Node]:
    """The values of llm-d's modelservice."""
    return [
        node
        for node in _levels(root)
        if _is_mapping(node.at(("modelArtifacts",)))
        and any(_is_mapping(node.at((role,))) for role in ("decode", "prefill"))
    ]


def _is_mapping(node: Node | None) -> bool:
    return node is not None and isinstance(node.value, dict)


def _levels(root: Node) -> list[Node]:
    return [root, *root.children.values()] if isinstance(root.value, dict) else []
