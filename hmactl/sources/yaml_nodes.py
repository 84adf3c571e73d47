"""YAML text as plain values, each with the line and column where it stands.

The document is built from the parser's events with a stack of its own: nothing recurses, so depth,
aliases and tags are judged before they can cost anything, and nothing but JSON's types is made.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from hmactl.deployment.setting import Json, Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.node import Node, Position
from hmactl.sources.wording import shortened
from hmactl.sources.yaml_places import scalar_stretches

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

MAX_DEPTH = 64
MAX_VALUES = 50_000  # in a file, with every alias written out
_MAX_NUMBER_LENGTH = 100
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what the parser counts as one
_TAG = "tag:yaml.org,2002:"
_MERGE, _STR = f"{_TAG}merge", f"{_TAG}str"
_NUMBERS = {f"{_TAG}int", f"{_TAG}float"}
_SCALARS = {
    f"{_TAG}null": "nothing (null)",
    f"{_TAG}bool": "a boolean",
    f"{_TAG}int": "a number",
    f"{_TAG}float": "a number",
    _STR: "text",
}


class _Loader(_BaseLoader):
    """PyYAML's safe loader, in which dates and ``=`` stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag in _SCALARS or tag == _MERGE]
    for first, forms in _BaseLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a file. ``root`` is None where it could not be read to its end."""

    root: Node | None
    findings: tuple[Finding, ...] = ()


def read_documents(source: str, text: str, *, of_others: bool = False) -> tuple[YamlDocument, ...]:
    """The documents of a YAML text, without the empty ones.

    Never raises, whatever the text: what is wrong is a finding of the document in which it stands
    (PRO002, PRO003, PRO005, PRO008). A document that cannot be read to its end is the last.
    ``of_others`` is for files that are read by other programs too, such as manifests: merge keys
    are applied, tags are passed over, and keys that are numbers are taken as text.
    """
    return tuple(_Builder(source, text, of_others=of_others).documents())


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not been read yet."""

    node: Node
    anchor: str | None
    mapping: dict[str, Json] | None
    items: list[Json]
    key: str | None = None
    key_is_sound: bool = True
    merges: list[Node] = field(default_factory=list)

    def merge(self) -> None:
        """Add what ``<<`` names and the mapping has not; the first of several wins."""
        for node in self.merges:
            for part in node.children.values() if isinstance(node.value, list) else (node,):
                for key, child in part.children.items():
                    if self.mapping is not None and isinstance(key, str):
                        self.mapping.setdefault(key, child.value)
                        self.node.children.setdefault(key, child)
                        self.node.keys.setdefault(key, part.keys[key])


class _StopReadingError(Exception):
    """The rest of the text is not worth reading; a finding already says why."""


class _Builder:
    """Turns the parser's events into nodes, one document after the other."""

    def __init__(self, source: str, text: str, *, of_others: bool) -> None:
        self.source = source
        self.of_others = of_others
        self.text = text
        self.lines = _LINE_BREAK.split(text)
        self.values = 0
        self.start_document()

    def start_document(self) -> None:
        self.root: Node | None = None
        self.stack: list[_Open] = []
        self.anchors: dict[str, Node] = {}
        self.findings: list[Finding] = []

    def documents(self) -> Iterator[YamlDocument]:
        try:
            self.loader: Any = _Loader(self.text)
            while self.loader.check_event():
                event = self.loader.get_event()
                if isinstance(event, yaml.DocumentStartEvent):
                    self.start_document()
                elif isinstance(event, yaml.DocumentEndEvent):
                    if not self.is_empty():
                        yield YamlDocument(self.root, tuple(self.findings))
                    self.start_document()
                else:
                    self.take(event)
        except yaml.YAMLError as error:
            from hmactl.sources.yaml_errors import explain_error

            self.findings.append(explain_error(self.source, self.text, error))
        except _StopReadingError:
            pass
        else:
            return
        yield YamlDocument(None, tuple(self.findings))

    def is_empty(self) -> bool:
        root = self.root
        return not self.findings and (root is None or (root.value is None and not root.written))

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.CollectionEndEvent):
            done = self.stack.pop()
            done.merge()
            self.finish(done.node, done.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self.take_alias(str(event.anchor), _position(event))
        elif isinstance(event, yaml.ScalarEvent):
            self.take_scalar(event, _position(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            self.take_collection(event, _position(event))

    def take_collection(self, event: Any, position: Position) -> None:
        if self.mapping_without_key() is not None:
            self.give_up(
                position,
                "a list or a mapping stands where a key is expected",
                "write a plain name before the `:`, and quote text that begins with `[` or `{`",
            )
        if len(self.stack) >= MAX_DEPTH:
            self.give_up(
                position,
                f"the YAML is nested more than {MAX_DEPTH} levels deep",
                "flatten the value",
            )
        self.count(1, position)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        mapping: dict[str, Json] = {}
        items: list[Json] = []
        node = Node(mapping if is_mapping else items, position)
        ours = {None, "!", f"{_TAG}{'map' if is_mapping else 'seq'}"}
        if event.tag not in ours and not self.of_others:
            node.sound = self.refuse_tag(event.tag, position)
        self.attach(node)
        self.stack.append(_Open(node, event.anchor, mapping if is_mapping else None, items))

    def take_scalar(self, event: Any, position: Position) -> None:
        self.count(1, position)
        tag = event.tag
        if self.of_others and tag not in _SCALARS:
            tag = None
        if tag in {None, "!"}:
            tag = self.loader.resolve(yaml.ScalarNode, event.value, event.implicit)
            # A plain `1:30` is a number in base 60 to YAML 1.1, and a time or a port to operators.
            if tag in _NUMBERS and ":" in event.value:
                tag = _STR
        mapping = self.mapping_without_key()
        if mapping is not None:
            if event.anchor is not None:
                self.anchors[event.anchor] = Node(event.value, position, event.value)
            merges = self.of_others and tag == _MERGE
            if self.of_others and not merges:
                tag = _STR
            sound = merges or tag == _STR or self.refuse_key(event.value, tag, position)
            if merges:
                mapping.key, mapping.key_is_sound = _MERGE, True
                return
            self.set_key(mapping, event.value, position, sound=sound)
            return
        # A `<<` that is a value is only text.
        node = Node(event.value, position, event.value)
        node.stretches = scalar_stretches(event, self.lines)
        if tag in _SCALARS:
            node.value, node.sound = self.construct(event.value, tag, position)
        elif tag != _MERGE:
            node.sound = self.refuse_tag(tag, position)
        self.attach(node)
        self.finish(node, event.anchor)

    def take_alias(self, anchor: str, position: Position) -> None:
        shown = shortened(anchor)
        if any(open_.anchor == anchor for open_ in self.stack):
            self.give_up(
                position,
                f"the alias `*{shown}` stands inside the value that it repeats",
                "write the value out",
            )
        node = self.anchors.get(anchor)
        if node is None:
            self.refuse(
                "PRO002",
                position,
                f"the alias `*{shown}` has no anchor above it in this document",
                "there is no value to put in its place",
                f"write the value out, or mark it where it first stands with `&{shown}`",
            )
            node = Node(f"*{anchor}", position, f"*{anchor}", sound=False)
        self.count(node.size, position)
        mapping = self.mapping_without_key()
        if mapping is None:
            node = replace(node, position=position)
            self.attach(node)
            self.finish(node, None)
        else:
            sound = isinstance(node.value, str) or self.refuse_key(f"*{anchor}", "", position)
            key = node.value if isinstance(node.value, str) else f"*{anchor}"
            self.set_key(mapping, key, position, sound=sound and node.sound)

    def mapping_without_key(self) -> _Open | None:
        """The innermost collection, if it is a mapping in which a key comes next."""
        if self.stack and self.stack[-1].mapping is not None and self.stack[-1].key is None:
            return self.stack[-1]
        return None

    def set_key(self, mapping: _Open, key: str, position: Position, *, sound: bool) -> None:
        earlier = mapping.node.keys.get(key)
        if earlier is not None:
            self.refuse(
                "PRO003",
                position,
                f"the key `{shortened(key)}` is given twice: already at line {earlier.line}, "
                f"column {earlier.column}",
                "only the last value counts, and the other is lost",
                "remove one of the two",
            )
        mapping.node.keys[key] = position
        mapping.key, mapping.key_is_sound = key, sound

    def attach(self, node: Node) -> None:
        """Hang a value into the innermost collection, or make it the document's root."""
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if parent.mapping is None:
            parent.node.children[len(parent.items)] = node
            parent.items.append(node.value)
        elif parent.key == _MERGE:
            parent.merges.append(node)
            parent.key = None
        elif parent.key is not None:
            sound = node.sound and parent.key_is_sound
            parent.node.children[parent.key] = replace(node, sound=sound)
            parent.mapping[parent.key] = node.value
            parent.key = None

    def finish(self, node: Node, anchor: str | None) -> None:
        """A value has been read to its end."""
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].node.size += node.size

    def count(self, values: int, position: Position) -> None:
        self.values += values
        if self.values <= MAX_VALUES:
            return
        spelled_out = " once its aliases are written out" if values > 1 else ""
        self.give_up(
            position,
            f"the file has more than {MAX_VALUES:,} values{spelled_out}",
            "remove what is not part of a profile",
        )

    def construct(self, text: str, tag: str, position: Position) -> tuple[Json, bool]:
        """The value of a scalar, and whether it can be used."""
        if "\0" in text:
            self.refuse(
                "PRO005",
                position,
                "the text contains a NUL character",
                "no command line and no environment variable can hold it",
                "remove the `\\0`",
            )
            return text, False
        if tag == _STR:
            return text, True
        value: Json = None
        fits = len(text) <= _MAX_NUMBER_LENGTH
        if fits:
            try:
                value = self.loader.construct_object(yaml.ScalarNode(tag, text))
            except (ValueError, KeyError, IndexError):  # PyYAML's, where an explicit tag is wrong
                fits = False
        if fits and not (isinstance(value, float) and not math.isfinite(value)):
            return value, True
        shown = shortened(text)
        self.refuse(
            "PRO005",
            position,
            f"`{shown}` is not {_SCALARS[tag]} that JSON can hold",
            "vLLM and LMCache get their settings as text or JSON, which have no such value",
            f'correct it, or quote it if text is meant: `"{shown}"`',
        )
        return text, False

    def refuse_key(self, key: str, tag: str, position: Position) -> bool:
        if tag == _MERGE:
            return self.refuse(
                "PRO008",
                position,
                "the merge key `<<` is not supported",
                "what it would merge is not read, so settings would be missing",
                "write the merged settings out",
            )
        kind = _SCALARS.get(tag, "something else")
        return self.refuse(
            "PRO005",
            position,
            f"the key `{shortened(key)}` is not text: YAML reads it as {kind}",
            "every key is a name, so this entry cannot be used",
            f'quote it: `"{shortened(key)}":`',
        )

    def refuse_tag(self, tag: str, position: Position) -> bool:
        shown = shortened(tag.replace(_TAG, "!!"))
        return self.refuse(
            "PRO008",
            position,
            f"the YAML tag `{shown}` is not supported",
            "a tag asks for a special object, and hmactl only reads plain values",
            "remove the tag and write a plain value",
        )

    def refuse(
        self, rule: str, position: Position, message: str, consequence: str, fix: str
    ) -> bool:
        """Note an error; False, for the `sound` of what it is about."""
        origin = Origin(self.source, *position)
        self.findings.append(Finding(rule, Severity.ERROR, message, consequence, fix, origin))
        return False

    def give_up(self, position: Position, message: str, fix: str) -> None:
        self.refuse("PRO008", position, message, "the rest of the file is not read", fix)
        raise _StopReadingError


def _position(event: Any) -> Position:
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)
