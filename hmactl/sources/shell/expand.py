"""Words as a shell expands them, as far as that can be told without running anything."""

import fnmatch
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from hmactl.deployment.places import Places, Stretch, places_of_point
from hmactl.sources.shell.arithmetic import reckon
from hmactl.sources.shell.state import Node, State, Variable
from hmactl.sources.shell.tree import Script
from hmactl.sources.shell.value import Piece, Value, constant, known_text, part

_END = None  # between the elements of "${array[@]}"
Atom: TypeAlias = "Piece | None"

_SPECIAL = frozenset(
    {
        *("string", "raw_string", "ansi_c_string", "simple_expansion", "expansion"),
        *("command_substitution", "arithmetic_expansion", "process_substitution"),
    }
)
_ESCAPES = {
    "bare": re.compile(r"\\(\n|.|\Z)", re.DOTALL),
    "double": re.compile(r'\\([$`"\\\n])'),
    "heredoc": re.compile(r"\\([$`\\\n])"),
}
_ANSI = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
    "e": "\x1b",
    "E": "\x1b",
}
_ANSI_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL
)
_SURROGATES = range(0xD800, 0xE000)
_BLANKS = re.compile(r"[ \t\n]+")
_ALL_OF = re.compile(r"\$(@|\{[^}]*@)")  # comes to no word at all where there is nothing
_MOST_LEVELS = 60
_LONGEST = 4096

Output = Callable[[Node, State], "Value | None"]
"""What the commands of a substitution print, None where that cannot be known."""


class Expander:
    """Expands the words of one script."""

    def __init__(self, script: Script, output: Output) -> None:
        self._script = script
        self._output = output
        self._level = 0

    def words(self, nodes: Sequence[Node], state: State) -> list[Value]:
        """The words that come of some nodes, split and with arrays laid out."""
        return [word for node in nodes for word in _fields(self._atoms(node, state))]

    def value(self, node: Node, state: State) -> Value:
        """What is assigned: one text, never split."""
        blank = Piece(" ", self._script.place(node))
        return tuple(blank if a is None else _unsplit(a) for a in self._atoms(node, state))

    def body(self, node: Node, state: State, *, literal: bool) -> Value:
        """The text of a here-document's body."""
        start, end = node.start_byte, node.end_byte
        if literal:
            return (Piece(self._script.text[start:end], self._script.place(node)),)
        return tuple(a for a in self._mixed(node, start, end, state, "heredoc") if a is not None)

    def number(self, node: Node, state: State) -> int | None:
        """The number that an arithmetic expression comes to."""

        def value_of(inner: Node) -> str | None:
            if inner.type in {"variable_name", "word"}:
                name = self._script.of(inner)
                if name.isdigit():
                    return name
                value = state.variables.get(name)
                return known_text(value) if isinstance(value, tuple) else None
            return known_text(self.value(inner, state))

        return reckon(node, value_of)

    def _atoms(self, node: Node, state: State, *, quoted: bool = False) -> Iterator[Atom]:
        self._level += 1
        try:
            if self._level > _MOST_LEVELS:
                yield self._unknown(node, (), quoted=quoted)
            else:
                yield from self._expanded(node, state, quoted=quoted)
        finally:
            self._level -= 1

    def _expanded(self, node: Node, state: State, *, quoted: bool) -> Iterator[Atom]:
        script = self._script
        match node.type:
            case "raw_string":
                yield self._literal(node.start_byte + 1, node.end_byte - 1)
            case "string":
                yield from self._double_quoted(node, state)
            case "ansi_c_string":
                yield _ansi(self._literal(node.start_byte + 2, node.end_byte - 1))
            case "simple_expansion":
                yield from self._variable(node, node.children[-1], state, quoted=quoted)
            case "expansion":
                yield from self._parameter(node, state, quoted=quoted)
            case "command_substitution":
                yield from self._substitution(node, state, quoted=quoted)
            case "arithmetic_expansion":
                number = self.number(node, state)
                if number is None:
                    yield self._unknown(node, (), quoted=quoted)
                else:
                    yield Piece(str(number), places_of_point(script.place(node).at(0)))
            case "process_substitution" | "ERROR":
                yield self._unknown(node, (), quoted=quoted)
            case "brace_expression":
                yield from self._range(node)
            case _:
                yield from self._mixed(node, node.start_byte, node.end_byte, state, "bare")

    def _double_quoted(self, node: Node, state: State) -> Iterator[Atom]:
        start = self._script.text.find('"', node.start_byte, node.end_byte) + 1
        if not start:  # tree-sitter made it up
            return
        atoms = list(self._mixed(node, start, node.end_byte - 1, state, "double"))
        if not atoms and not _ALL_OF.search(self._script.of(node)):
            yield self._literal(start, start)  # "" is a word
        yield from atoms

    def _mixed(self, node: Node, start: int, end: int, state: State, mode: str) -> Iterator[Atom]:
        """Literal text with expansions in it, from one offset to another."""
        at = start
        for child in _specials(node, start, end):
            yield from self._unescaped(at, child.start_byte, mode)
            yield from self._atoms(child, state, quoted=mode != "bare")
            at = child.end_byte
        yield from self._unescaped(at, end, mode)

    def _unescaped(self, start: int, end: int, mode: str) -> Iterator[Piece]:
        if start >= end:
            return
        at = start
        for match in _ESCAPES[mode].finditer(self._script.text, start, end):
            if match.start() > at:
                yield self._literal(at, match.start())
            if match[1] != "\n" and match[1]:
                yield self._literal(match.start(1), match.end(1))
            at = match.end()
        if at < end:
            yield self._literal(at, end)

    def _literal(self, start: int, end: int) -> Piece:
        end = max(start, end)
        return Piece(self._script.text[start:end], self._script.places.between(start, end))

    def _unknown(self, node: Node, needs: tuple[str, ...], *, quoted: bool) -> Piece:
        text = _BLANKS.sub(" ", self._script.of(node))
        places = places_of_point(self._script.place(node).at(0))
        return Piece(text, places, known=False, needs=needs, splits=not quoted)

    def _range(self, node: Node) -> Iterator[Atom]:
        """``{0..3}``"""
        ends = [self._script.of(child) for child in node.children if child.is_named]
        if len(ends) != 2 or not all(re.fullmatch(r"-?\d{1,6}", end) for end in ends):
            yield self._literal(node.start_byte, node.end_byte)
            return
        first, last = map(int, ends)
        step = 1 if last >= first else -1
        numbers = range(first, last + step, step)[:1000]
        for number in numbers:
            if number != first:
                yield _END
            yield Piece(str(number), places_of_point(self._script.place(node).at(0)))

    def _variable(self, node: Node, name: Node, state: State, *, quoted: bool) -> Iterator[Atom]:
        """``$NAME``, ``$1``, ``$@``"""
        text = self._script.of(name)
        if text in {"@", "*"}:
            yield from _laid_out(list(state.arguments or ()), joined=text == "*", quoted=quoted)
            return
        value = self._lookup(text, state)
        yield from self._reading(node, text, value, quoted=quoted)

    def _reading(
        self, node: Node, name: str, value: "Variable | None", *, quoted: bool
    ) -> Iterator[Atom]:
        if value is None:
            yield self._unknown(node, (name,) if _is_name(name) else (), quoted=quoted)
        elif isinstance(value, list):
            yield from _as_expanded(value[0], quoted=quoted) if value else ()
        else:
            yield from _as_expanded(value, quoted=quoted)

    def _lookup(self, name: str, state: State) -> "Variable | None":
        if name.isdigit() and name != "0":
            arguments = state.arguments
            if arguments is None:
                return None
            return arguments[int(name) - 1] if int(name) <= len(arguments) else ()
        if name == "#":
            if state.arguments is None:
                return None
            text = str(len(state.arguments))
            return constant(text, Places(self._script.places.source, (Stretch(0, 1, 1),)))
        return state.variables.get(name)

    def _parameter(self, node: Node, state: State, *, quoted: bool) -> Iterator[Atom]:
        """``${NAME}`` in all its forms."""
        inner = node.children[1:-1]
        prefix = self._script.of(inner[0]) if inner and not inner[0].is_named else ""
        rest = inner[1:] if prefix in {"#", "!"} and len(inner) > 1 else inner
        if not rest:
            yield self._unknown(node, (), quoted=quoted)
            return
        target, following = rest[0], rest[1:]
        name, value, everything = self._target(target, state)
        if prefix in {"#", "!"} and rest is not inner:
            yield from self._measured(node, prefix, value, quoted=quoted)
        elif following:
            yield from self._operated(node, target, name, value, following, state, quoted=quoted)
        elif everything and isinstance(value, list):
            yield from _laid_out(value, joined=everything == "*", quoted=quoted)
        elif everything and value is None and not state.sourced:
            return  # nobody set it, and an array never comes from the environment
        elif everything and value is None:
            yield self._unknown(node, (name,), quoted=False)
        else:
            yield from self._reading(node, name, value, quoted=quoted)

    def _target(self, target: Node, state: State) -> tuple[str, "Variable | None", str]:
        """A variable's name and value, and ``@`` or ``*`` where all of an array is meant."""
        if target.type != "subscript":
            name = self._script.of(target)
            if name in {"@", "*"}:
                return name, list(state.arguments or ()), name
            return name, self._lookup(name, state), ""
        name_node, index_node = (child for child in target.children if child.is_named)
        name, index = self._script.of(name_node), self._script.of(index_node)
        value = self._lookup(name, state)
        if index in {"@", "*"}:
            return name, [value] if isinstance(value, tuple) else value, index
        number = self.number(index_node, state)
        if not isinstance(value, list) or number is None or not _is_counted(value):
            return name, None, ""
        return name, (value[number] if -len(value) <= number < len(value) else ()), ""

    def _measured(
        self, node: Node, prefix: str, value: "Variable | None", *, quoted: bool
    ) -> Iterator[Atom]:
        """``${#NAME}`` and ``${!NAME}``."""
        text = None
        if prefix == "#" and isinstance(value, list) and _is_counted(value):
            text = str(len(value))
        elif prefix == "#" and isinstance(value, tuple):
            known = known_text(value)
            text = None if known is None else str(len(known))
        if text is None:
            yield self._unknown(node, (), quoted=quoted)
        else:
            yield Piece(text, places_of_point(self._script.place(node).at(0)))

    def _operated(  # noqa: PLR0917
        self,
        node: Node,
        target: Node,
        name: str,
        value: "Variable | None",
        following: Sequence[Node],
        state: State,
        *,
        quoted: bool,
    ) -> Iterator[Atom]:
        """``${NAME:-default}`` and its like."""
        operator = self._script.of(following[0])
        start, end = following[0].end_byte, node.end_byte - 1

        def argument() -> list[Atom]:
            return list(self._mixed(node, start, end, state, "double" if quoted else "bare"))

        if operator in {":-", "-", ":=", "="}:
            if _is_missing(value, or_empty=operator.startswith(":")):
                atoms = argument()
                if operator.endswith("="):
                    default = tuple(atom for atom in atoms if atom is not None)
                    state.assign(name, default, self._script.place(target))
                yield from (a if quoted or a is None else _split(a) for a in atoms)
            else:
                yield from self._reading(node, name, value, quoted=quoted)
        elif operator in {":+", "+"}:
            if not _is_missing(value, or_empty=operator.startswith(":")):
                yield from (a if quoted or a is None else _split(a) for a in argument())
        elif operator in {":?", "?"}:
            yield from self._reading(node, name, value, quoted=quoted)
        else:
            text = known_text(value) if isinstance(value, tuple) else None
            pattern = known_text(a for a in argument() if a is not None)
            changed = None
            if text is not None and pattern is not None:
                changed = _changed(text, operator, pattern)
            if changed is None:
                needs = (name,) if value is None and _is_name(name) else ()
                yield self._unknown(node, needs, quoted=quoted)
            else:
                places = places_of_point(self._script.place(node).at(0))
                yield Piece(changed, places, splits=not quoted)

    def _substitution(self, node: Node, state: State, *, quoted: bool) -> Iterator[Atom]:
        value = self._output(node, state)
        if value is None:
            yield self._unknown(node, (), quoted=quoted)
            return
        yield from _as_expanded(_without_last_lines(value), quoted=quoted)


def _fields(atoms: Iterator[Atom]) -> Iterator[Value]:
    """Words from atoms: pieces that split do so at blanks."""
    word: list[Piece] | None = None
    for atom in atoms:
        if atom is _END:
            if word is not None:
                yield tuple(word)
            word = None
        elif not (atom.splits and atom.known):
            word = [*(word or []), atom]
        else:
            at = 0
            for match in _BLANKS.finditer(atom.text):
                if match.start() > at:
                    word = [*(word or []), part(atom, at, match.start())]
                if word is not None:
                    yield tuple(word)
                word = None
                at = match.end()
            if at < len(atom.text):
                word = [*(word or []), part(atom, at, len(atom.text))]
    if word is not None:
        yield tuple(word)


def _laid_out(values: list[Value], *, joined: bool, quoted: bool) -> Iterator[Atom]:
    """``"${A[@]}"``, or ``"${A[*]}"`` where they are joined."""
    for index, value in enumerate(values):
        if index and joined and quoted:
            yield Piece(" ", value[0].places) if value else None
        elif index:
            yield _END
        if quoted and not value and not joined:
            yield Piece("", Places("", (Stretch(0, 1, 1),)))
        yield from _as_expanded(value, quoted=quoted)


def _as_expanded(value: Value, *, quoted: bool) -> Iterator[Piece]:
    for piece in value:
        yield _unsplit(piece) if quoted else _split(piece)


def _split(piece: Piece) -> Piece:
    return Piece(piece.text, piece.places, piece.known, piece.needs, splits=True)


def _unsplit(piece: Piece) -> Piece:
    return Piece(piece.text, piece.places, piece.known, piece.needs)


def _is_counted(values: list[Value]) -> bool:
    """Whether it is known how many elements an array has."""
    return not any(piece.splits and not piece.known for value in values for piece in value)


def _is_name(name: str) -> bool:
    return name not in {"?", "!", "$", "0", "-", "_", ""}


def _is_missing(value: "Variable | None", *, or_empty: bool) -> bool:
    """Whether a default takes the variable's place.

    What nobody has set is taken as unset, also where it is only passed on (``A=$1``).
    """
    if value is None:
        return True
    if isinstance(value, list):
        return not value and or_empty
    if len(value) == 1 and not value[0].known and value[0].needs:
        return True
    return or_empty and known_text(value) == ""


def _specials(node: Node, start: int, end: int) -> Iterator[Node]:
    """The outermost expansions and quoted parts between two offsets, in their order."""
    waiting = list(reversed(node.children))
    while waiting:
        child = waiting.pop()
        if child.start_byte < start or child.end_byte > end:
            if child.start_byte < end and child.end_byte > start:
                waiting += reversed(child.children)
        elif child.type in _SPECIAL:
            if child.start_byte < child.end_byte:
                yield child
        else:
            waiting += reversed(child.children)


def _ansi(piece: Piece) -> Piece:
    def replaced(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] == "x" and len(escape) > 1:
            return _byte(int(escape[1:], 16))
        if escape[0] in "uU" and len(escape) > 1:
            code = int(escape[1:], 16)
            return chr(code) if code <= sys.maxunicode and code not in _SURROGATES else match[0]
        if escape.isdigit():
            return _byte(int(escape, 8) & 0xFF) if set(escape) <= set("01234567") else match[0]
        return _ANSI.get(escape, match[0])

    # Such an escape is a byte, of which several may be one character.
    made = _ANSI_ESCAPE.sub(replaced, piece.text)
    text = made.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Piece(text, piece.places if text == piece.text else places_of_point(piece.places.at(0)))


def _byte(value: int) -> str:
    return chr(value) if value < 0x80 else chr(0xDC00 + value)


def _without_last_lines(value: Value) -> Value:
    pieces = list(value)
    while pieces and pieces[-1].known:
        text = pieces[-1].text.rstrip("\n")
        if text:
            pieces[-1] = part(pieces[-1], 0, len(text))
            break
        pieces.pop()
    return tuple(pieces)


def _changed(text: str, operator: str, pattern: str) -> str | None:
    if len(text) > _LONGEST:
        return None
    match operator:
        case "#" | "##":
            ends = range(len(text) + 1) if operator == "#" else range(len(text), -1, -1)
            end = next((n for n in ends if fnmatch.fnmatchcase(text[:n], pattern)), 0)
            return text[end:]
        case "%" | "%%":
            starts = range(len(text), -1, -1) if operator == "%" else range(len(text) + 1)
            start = next((n for n in starts if fnmatch.fnmatchcase(text[n:], pattern)), len(text))
            return text[:start]
        case "/" | "//":
            old, _, new = pattern.partition("/")
            if not old or set(old) & set("*?["):
                return None
            return text.replace(old, new, 1 if operator == "/" else -1)
        case ":":
            match = re.fullmatch(r"\s*(\d+)\s*(?::\s*(\d+)\s*)?", pattern)
            if match is None:
                return None
            start = int(match[1])
            return text[start:] if match[2] is None else text[start : start + int(match[2])]
        case "^^":
            return text.upper() if not pattern else None
        case ",,":
            return text.lower() if not pattern else None
    return None
