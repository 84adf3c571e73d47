"""A scalar of a YAML file as a word of a command or the value of a variable."""

from hmactl.deployment.places import Places
from hmactl.deployment.setting import Origin
from hmactl.sources.node import Node
from hmactl.sources.process.word import Word


def yaml_word(source: str, node: Node) -> Word:
    """The scalar's text with the places of its characters."""
    places = Places(source, node.stretches) if node.stretches else None
    return Word(node.written, Origin(source, *node.position), places=places)
