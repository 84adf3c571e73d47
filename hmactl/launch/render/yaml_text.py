"""YAML that every reader of it takes for the same, and whose strings are strings to all of them."""

from collections.abc import Iterator
from typing import Any

import yaml

from hmactl.launch.render.model import Rendered
from hmactl.launch.render.words import remark_lines

_WIDEST = 2**31


class Quoted(str):
    """Text that stands in quotes, because YAML 1.1 and 1.2 differ in what they take for text."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _quoted(dumper: yaml.SafeDumper, data: Quoted) -> yaml.ScalarNode:
    text = str(data)
    escaped = "'" in text or not text.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, '"' if escaped else "'")


_Dumper.add_representer(Quoted, _quoted)


class Block(str):
    """Text of several lines, such as a file's."""

    __slots__ = ()


def _block(dumper: yaml.SafeDumper, data: Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(data), "|")


_Dumper.add_representer(Block, _block)


def yaml_text(rendered: Rendered, documents: list[dict[str, Any]]) -> str:
    """The documents below the remarks."""
    return "\n".join((*remark_lines(rendered), "")) + "---\n".join(_texts(documents))


def _texts(documents: list[dict[str, Any]]) -> Iterator[str]:
    for document in documents:
        yield yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDEST
        )
