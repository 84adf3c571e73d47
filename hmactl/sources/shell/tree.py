"""A script's text as tree-sitter's tree."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from hmactl.deployment.places import Places
from hmactl.sources.shell.state import Node

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Script:
    """A text with its tree; offsets of nodes are those of the text's characters."""

    text: str
    root: Node
    places: Places

    def of(self, node: Node) -> str:
        """The text of a node as written."""
        return self.text[node.start_byte : node.end_byte]

    def place(self, node: Node) -> Places:
        """Where the node stands."""
        return self.places.between(node.start_byte, node.end_byte)


def parse(text: str, places: Places) -> Script:
    """The tree of a text; never raises, whatever the text."""
    # Line ends of Windows become blanks, a backslash in front of one staying the last character.
    text = text.replace("\\\r\n", " \\\n").replace("\r", " ")
    # Byte offsets are those of characters once every character is a byte long.
    ascii_text = _NOT_ASCII.sub("x", text).replace("\0", " ")
    return Script(text, _parser().parse(ascii_text.encode("ascii")).root_node, places)


@cache
def _parser() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
