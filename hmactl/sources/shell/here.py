"""Here-documents and what commands print: texts that a script carries in itself."""

import re
from pathlib import PurePath

from hmactl.deployment.files import TextFile
from hmactl.sources.shell.expand import Expander
from hmactl.sources.shell.state import Node, State
from hmactl.sources.shell.tree import Script
from hmactl.sources.shell.value import Piece, Value, constant, joined, known_text, to_word

_KEEP_JSON = (["jq", "-c", "."], ["jq", "-c"], ["jq", "."], ["tr", "-d", "\\n"], ["tr", "-d", "\n"])


def here_text(script: Script, expander: Expander, node: Node, state: State) -> Value | None:
    """The text that a redirected command gets on its standard input."""
    for child in node.children:
        if child.type == "heredoc_redirect":
            body = next((c for c in child.children if c.type == "heredoc_body"), None)
            start = next((c for c in child.children if c.type == "heredoc_start"), None)
            if body is None or start is None:
                return ()
            literal = any(sign in script.of(start) for sign in "'\"\\")
            value = expander.body(body, state, literal=literal)
            stripped = any(c.type == "<<-" for c in child.children)
            return _without_tabs(value) if stripped else value
        if child.type == "herestring_redirect":
            return expander.value(child.children[-1], state)
    return None


def file_written(
    script: Script, expander: Expander, node: Node, text: Value | None, state: State
) -> TextFile | None:
    """The file that ``cat > FILE <<EOF`` or ``tee FILE <<EOF`` writes, where all is known."""
    command = next((c for c in node.children if c.type == "command"), None)
    words = (
        []
        if command is None
        else [
            known_text(w)
            for w in expander.words(
                [c for c in command.children if c.is_named and not c.type.endswith("redirect")],
                state,
            )
        ]
    )
    if text is None or not words or known_text(text) is None:
        return None
    path, appended = None, False
    if words[0] in {"tee", "/usr/bin/tee"} or words[:2] == ["sudo", "tee"]:
        path = next((w for w in reversed(words) if w and not w.startswith("-")), None)
        appended = "-a" in words
    elif words in (["cat"], ["cat", "-"]):
        for redirect in _redirects(node):
            sign = redirect.children[0].type
            if sign in {">", ">>", ">|"} and len(redirect.children) > 1:
                path = known_text(expander.value(redirect.children[-1], state))
                appended = sign == ">>"
    if path is None:
        return None
    word = to_word(text, script.place(node))
    earlier = state.files.get(path)
    if appended and earlier is not None:
        whole = (Piece(earlier.text, earlier.places), *text)
        word = to_word(whole, script.place(node))
    return TextFile(path, word.text, word.where())


def printed(script: Script, expander: Expander, node: Node, state: State) -> Value | None:
    """What the commands of ``$(...)`` print, None where that cannot be known."""
    statements = [c for c in node.children if c.is_named and c.type != "comment"]
    return _printed(script, expander, statements[0], state) if len(statements) == 1 else None


def _printed(script: Script, expander: Expander, node: Node, state: State) -> Value | None:
    commands = [c for c in node.children if c.is_named]
    match node.type:
        case "command":
            return _output(_words(expander, node, state))
        case "pipeline":
            filters = [[known_text(w) for w in _words(expander, c, state)] for c in commands[1:]]
            if all(words in _KEEP_JSON for words in filters):
                return _printed(script, expander, commands[0], state)
        case "redirected_statement":
            texts = [known_text(word) for word in _words(expander, node.children[0], state)]
            sources = {"heredoc_redirect", "herestring_redirect"}
            only_here = all(child.type in sources for child in node.children[1:])
            if texts in (["cat"], *_KEEP_JSON) and only_here:
                return here_text(script, expander, node, state)
        case "list" if len(commands) == 2 and script.of(commands[1]) in {"pwd", "pwd -P"}:
            words = _words(expander, commands[0], state)
            if [known_text(word) for word in words[:1]] == ["cd"] and known_text(words[-1]):
                return words[-1]
    return None


def _output(words: list[Value]) -> Value | None:
    words = [word for word in words if known_text(word) != "--"]
    match [known_text(word) for word in words]:
        case ["echo", *_]:
            rest = words[1:]
            while rest and known_text(rest[0]) in {"-n", "-e", "-E"}:
                rest = rest[1:]
            return joined(rest)
        case ["dirname", str(path)]:
            return _shorter(words[1], str(PurePath(path).parent))
        case ["basename", str(path)]:
            return _shorter(words[1], PurePath(path).name)
        case ["realpath", str()] | ["readlink", "-f", str()]:
            return words[-1]
        case ["printf", "%s" | "%s\\n", _]:
            return words[2]
        case ["seq", *ends] if (numbers := _sequence(ends)) is not None:
            return constant("\n".join(map(str, numbers)), words[0][0].places)
        case ["printf", text] if text is not None and not set(text) & set("%\\"):
            return words[1]
    return None


def _sequence(ends: list[str | None]) -> range | None:
    """The numbers of ``seq LAST`` and ``seq FIRST LAST``, of which there may be a thousand."""
    if not 1 <= len(ends) <= 2 or not all(end and re.fullmatch(r"-?\d{1,6}", end) for end in ends):
        return None
    numbers = [int(end or 0) for end in ends]
    return range(numbers[0] if len(numbers) == 2 else 1, numbers[-1] + 1)[:1000]


def _shorter(path: Value, text: str) -> Value:
    return constant(text, path[0].places) if path else ()


def _words(expander: Expander, node: Node, state: State) -> list[Value]:
    if node.type != "command":
        return []
    named = [c for c in node.children if c.is_named and not c.type.endswith("redirect")]
    return expander.words(named, state)


def _redirects(node: Node) -> list[Node]:
    """Those of a statement, also such as stand behind the start of a here-document."""
    found = []
    for child in node.children:
        if child.type == "file_redirect":
            found.append(child)
        elif child.type == "heredoc_redirect":
            found += [c for c in child.children if c.type == "file_redirect"]
    return [c for c in found if c.children[0].type != "file_descriptor"]


def _without_tabs(value: Value) -> Value:
    """``<<-`` takes the tabs from the beginning of every line."""
    pieces: list[Piece] = []
    line_start = True
    for piece in value:
        at = 0
        for line in piece.text.splitlines(keepends=True):
            skipped = len(line) - len(line.lstrip("\t")) if line_start else 0
            start, at = at + skipped, at + len(line)
            if start < at:
                text = piece.text[start:at]
                places = piece.places.between(start, at)
                pieces.append(Piece(text, places, piece.known, piece.needs))
            line_start = line.endswith("\n")
    return tuple(pieces)
