"""A script's statements in the order in which a shell would come to them, nothing of it run.

Where it cannot be known which way a script goes, it is followed both ways.
"""

import fnmatch
from collections.abc import Callable, Sequence
from typing import TypeAlias

from hmactl.sources.shell.condition import Answer, Conditions
from hmactl.sources.shell.expand import Expander
from hmactl.sources.shell.here import file_written, here_text, printed
from hmactl.sources.shell.state import Node, State, distinct
from hmactl.sources.shell.tree import Script
from hmactl.sources.shell.value import Piece, Value, constant, joined, known_text, part

_MOST_STATEMENTS = 5_000
_MOST_LEVELS = 60
_MOST_ROUNDS = 32
_SIDES = 2
_BUILTINS = frozenset({"set", "shift", "source", ".", "read", "mapfile", "readarray"})

States: TypeAlias = list[State]
Launch = Callable[[Sequence[Value], Node, State], bool]
"""Takes the words of a command with its place; True where they started something to note."""

Nested = Callable[[Value, State], States]
"""Runs a text as a script in the same shell (``eval``)."""


class Run:
    """Follows one script. ``launch`` gets every command that is none of the shell's own.

    ``past_exits`` goes on behind every ``exit``, as if the condition in front of it did not hold.
    """

    def __init__(self, script: Script, launch: Launch, nested: Nested, *, past_exits: bool) -> None:
        self._script = script
        self._past_exits = past_exits
        self._launch = launch
        self._nested = nested
        self._expander = Expander(script, self._output)
        self._conditions = Conditions(script, self._expander)
        self._statements = 0
        self._level = 0
        self._called: set[str] = set()
        self._defined: dict[str, Node] = {}
        self._here: dict[int, Value] = {}

    def whole(self, state: State) -> States:
        """The script from its beginning, then the functions that nobody called."""
        ended = self._all(self._script.root.children, [state])
        for name, function in self._defined.items():
            if name not in self._called:
                # Whoever sources the script may call it.
                before = (ended or [state])[0].copy()
                before.arguments = None
                self._function(function, [before])
        return ended

    def _all(self, nodes: Sequence[Node], states: States) -> States:
        for node in nodes:
            live = [state for state in states if not state.returned]
            if not live or self._statements > _MOST_STATEMENTS:
                break
            if node.is_named and node.type != "comment":
                held = [state for state in states if state.returned]
                states = [*held, *distinct(self._statement(node, live))]
        return states

    def _statement(self, node: Node, states: States) -> States:
        self._statements += len(states)
        if self._statements > _MOST_STATEMENTS or self._level > _MOST_LEVELS:
            return states
        self._level += 1
        try:
            return self._by_kind(node, states)
        finally:
            self._level -= 1

    def _by_kind(self, node: Node, states: States) -> States:
        if node.type in _GROUPS:
            return self._all(node.children, states)
        follow = _KINDS.get(node.type)
        return (
            states if follow is None else [s for state in states for s in follow(self, node, state)]
        )

    def _assignment(self, node: Node, state: State) -> States:
        self._assign(node, state)
        return [state]

    def _declaration(self, node: Node, state: State) -> States:
        self._declare(node, state)
        return [state]

    def _unset(self, node: Node, state: State) -> States:
        for child in node.children[1:]:
            state.variables.pop(self._script.of(child), None)
            state.exported.discard(self._script.of(child))
        return [state]

    def _define(self, node: Node, state: State) -> States:
        name = self._script.of(next(child for child in node.children if child.type == "word"))
        state.functions[name] = self._defined[name] = node
        return [state]

    def _aside(self, node: Node, state: State) -> States:
        """A subshell or a pipeline: what it assigns is lost."""
        self._in_copies(node.children, [state])
        return [state]

    def _in_copies(self, nodes: Sequence[Node], states: States) -> None:
        for state in states:
            self._all(nodes, [state.copy()])

    def _assign(self, node: Node, state: State) -> str:
        """Make one assignment; the variable's name."""
        target, value = node.children[0], node.children[-1]
        appended = any(child.type == "+=" for child in node.children)
        place = self._script.place(target)
        if target.type == "subscript":
            name = self._script.of(target.children[0])
            state.assign(name, (Piece(f"${name}", place, known=False, splits=True),), place)
            return name
        name = self._script.of(target)
        before = state.variables.get(name)
        if value.type == "array":
            items = self._expander.words(_named(value), state)
            if appended and isinstance(before, list):
                items = [*before, *items]
            elif appended and isinstance(before, tuple):
                items = [before, *items]
            state.assign(name, items, place)
            return name
        new: Value = () if value.type in {"=", "+="} else self._expander.value(value, state)
        if appended and isinstance(before, list):
            state.assign(name, [(*before[0], *new), *before[1:]] if before else [new], place)
        elif appended:
            unknown = (Piece(f"${name}", place, known=False, needs=(name,)),)
            state.assign(name, (*(unknown if before is None else before), *new), place)
        else:
            state.assign(name, new, place)
        return name

    def _declare(self, node: Node, state: State) -> None:
        words = [self._script.of(child) for child in node.children]
        options = "".join(word[1:] for word in words[1:] if word.startswith("-"))
        exports = words[0] == "export" or "x" in options
        names = [self._assign(c, state) for c in node.children if c.type == "variable_assignment"]
        for child in node.children[1:]:
            if child.type == "variable_name":
                names.append(self._script.of(child))
            elif child.type in {"simple_expansion", "expansion", "string", "concatenation"}:
                names += self._assigned_by_words(child, state)
        if exports and words[0] == "export" and "n" in options:
            state.exported.difference_update(names)
        elif exports:
            state.exported.update(names)

    def _assigned_by_words(self, node: Node, state: State) -> list[str]:
        """``export "A=$b"``: the names, after their assignment."""
        names = []
        for word in self._expander.words([node], state):
            text = "".join(piece.text for piece in word)
            name, equals, _ = text.partition("=")
            if equals and name.isidentifier():
                state.assign(name, _behind(word, len(name) + 1), self._script.place(node))
                names.append(name)
        return names

    def _command(self, node: Node, state: State) -> States:
        assignments = [c for c in node.children if c.type == "variable_assignment"]
        rest = [c for c in node.children if c.is_named and c.type != "variable_assignment"]
        for child in rest:
            if child.type == "herestring_redirect":
                self._here[node.id] = self._expander.value(child.children[-1], state)
        rest = [c for c in rest if not c.type.endswith("redirect")]
        if not rest:
            for assignment in assignments:
                self._assign(assignment, state)
            return [state]
        words = self._expander.words(rest, state)
        inner = state.copy() if assignments else state
        for assignment in assignments:
            inner.exported.add(self._assign(assignment, inner))
        return self._run_words(words, node, state, inner)

    def _run_words(self, words: Sequence[Value], node: Node, state: State, inner: State) -> States:
        """``inner`` is the state with the assignments in front of the command."""
        name = known_text(words[0]) if words else None
        match name:
            case "exit":
                return [state] if self._past_exits else []
            case "return":
                state.returned = True
            case "exec":
                if len(words) > 1:
                    self._run_words(words[1:], node, state.copy(), inner)
                    return [state] if self._past_exits else []
            case "eval":
                after = self._nested(joined(words[1:]), inner)
                return after if inner is state else [state]
            case str() if name in _BUILTINS:
                self._builtin(name, words[1:], node, state)
            case str() if name in inner.functions:
                return self._call(name, words, node, state, inner)
            case _:
                self._launch(words, node, inner)
        return [state]

    def _builtin(self, name: str, words: Sequence[Value], node: Node, state: State) -> None:
        match name:
            case "set":
                self._set(words, state)
            case "shift":
                count = known_text(words[0]) if words else None
                shifted = int(count) if count and count.isdigit() else 1
                state.arguments = state.arguments and state.arguments[shifted:]
            case "source" | ".":
                state.sourced = True
            case "read":
                self._read(words, node, state)
            case "mapfile" | "readarray":
                self._read([constant("-a", self._script.place(node)), *words], node, state)

    def _set(self, words: Sequence[Value], state: State) -> None:
        texts = [known_text(word) for word in words]
        for index, text in enumerate(texts):
            if text == "--":
                state.arguments = tuple(words[index + 1 :])
                return
            if text in {"-a", "-o"} and (text == "-a" or "allexport" in texts):
                state.exports_all = True
            elif text in {"+a", "+o"} and (text == "+a" or "allexport" in texts):
                state.exports_all = False

    def _read(self, words: Sequence[Value], node: Node, state: State) -> None:
        """``read NAME <<EOF``: all of the text, as it is used for JSON."""
        texts = [known_text(word) for word in words]
        names = [text for text in texts if text and text.isidentifier()]
        value = self._here.pop(node.id, None)
        place = self._script.place(node)
        is_array = any(text and text.startswith("-") and "a" in text for text in texts)
        if len(names) == 1 and value is not None and not is_array:
            whole = any(text and text.startswith("-") and "d" in text for text in texts)
            state.assign(names[0], _stripped(value if whole else _first_line(value)), place)
            return
        for name in names:
            unknown = Piece(f"${name}", place, known=False, needs=(name,), splits=is_array)
            state.assign(name, [(unknown,)] if is_array else (unknown,), place)

    def _call(
        self, name: str, words: Sequence[Value], node: Node, state: State, inner: State
    ) -> States:
        self._called.add(name)
        if inner.depth > _MOST_LEVELS // 4:
            return [state]
        before = inner.copy() if inner is state else inner
        outer = before.arguments
        before.arguments = tuple(words[1:])
        before.depth += 1
        found: list[bool] = []
        launch = self._launch

        def noting(words: Sequence[Value], node: Node, state: State) -> bool:
            found.append(launch(words, node, state))
            return found[-1]

        self._launch = noting
        try:
            states = self._function(inner.functions[name], [before])
        finally:
            self._launch = launch
        if not any(found):
            # A function that starts what it is given by a way that is not followed.
            self._launch(words[1:], node, inner)
        for after in states:
            after.arguments, after.depth = outer, state.depth
        return states

    def _function(self, function: Node, states: States) -> States:
        states = self._all([function.children[-1]], states)
        for state in states:
            state.returned = False
        return states

    def _either(
        self, answer: Answer, state: State, yes: Sequence[Node], no: Sequence[Node]
    ) -> States:
        """Follow the way that a condition opens, or both."""
        if answer.holds is not None and not answer.assumed:
            return self._all(yes if answer.holds else no, [state])
        first, second = (yes, no) if answer.holds is not False else (no, yes)
        states = self._all(first, [state.copy()])
        others = self._all(second, [state.copy()])
        if answer.assumed and any(not after.returned for after in states):
            return states
        return [*states, *others]

    def _if(self, node: Node, state: State) -> States:
        condition, body, rest = _clauses(node)
        states = self._before(condition, state)
        after: States = []
        for each in states:
            answer = self._answer(condition, each)
            after += (
                self._either(answer, each, body, ())
                if not rest
                else self._branch(answer, each, body, rest)
            )
        return after

    def _branch(
        self, answer: Answer, state: State, body: Sequence[Node], rest: Sequence[Node]
    ) -> States:
        """``rest`` begins with an elif or else clause."""
        clause = rest[0]
        if clause.type == "else_clause":
            return self._either(answer, state, body, clause.children)
        condition, inner, _ = _clauses(clause)
        if answer.holds is True and not answer.assumed:
            return self._all(body, [state])
        states: States = []
        if answer.holds is not False or answer.assumed:
            states = self._all(body, [state.copy()])
        if answer.holds is True and states:
            self._elif(condition, inner, rest[1:], state.copy())
            return states
        return [*states, *self._elif(condition, inner, rest[1:], state)]

    def _elif(
        self, condition: Sequence[Node], body: Sequence[Node], rest: Sequence[Node], state: State
    ) -> States:
        answer = self._answer(condition, state)
        if not rest:
            return self._either(answer, state, body, ())
        return self._branch(answer, state, body, rest)

    def _before(self, condition: Sequence[Node], state: State) -> States:
        """What the commands of a condition do besides being one."""
        if all(self._conditions.is_test(node) for node in condition):
            return [state]
        return self._all(condition, [state]) or [state]

    def _answer(self, condition: Sequence[Node], state: State) -> Answer:
        return self._conditions.judge(condition[-1], state) if condition else Answer(None)

    def _case(self, node: Node, state: State) -> States:
        subject = known_text(self._expander.value(node.children[1], state))
        states: States = []
        fallback = False
        for item in (child for child in node.children if child.type == "case_item"):
            end = next(i for i, child in enumerate(item.children) if child.type == ")")
            patterns = [self._script.of(c).strip("\"'") for c in item.children[:end] if c.is_named]
            body = item.children[end + 1 :]
            if subject is not None:
                if any(fnmatch.fnmatchcase(subject, pattern) for pattern in patterns):
                    return self._all(body, [state])
                continue
            fallback = fallback or "*" in patterns
            states += self._all(body, [state.copy()])
        return states if fallback else [*states, state]

    def _for(self, node: Node, state: State) -> States:
        variable = next(c for c in node.children if c.type == "variable_name")
        name, place = self._script.of(variable), self._script.place(variable)
        body = [node.children[-1]]
        start = next((i for i, c in enumerate(node.children) if c.type == "in"), None)
        if start is None:
            words = list(state.arguments or ())
        else:
            end = len(node.children) - 1
            listed = [c for c in node.children[start + 1 : end] if c.is_named]
            words = self._expander.words(listed, state)
        if len(words) > _MOST_ROUNDS:
            words = [(Piece(f"${name}", place, known=False, needs=(name,)),)]
        states = [state]
        for word in words:
            for each in states:
                each.assign(name, word, place)
            states = self._all(body, states)
        return states

    def _counted(self, node: Node, state: State) -> States:
        """``for ((i = 0; i < 4; i++))``"""
        parts: list[list[Node]] = [[]]
        for child in node.children[2:]:
            if child.type == "))":
                break
            if child.type == ";":
                parts.append([])
            elif child.is_named:
                parts[-1].append(child)
        body = [node.children[-1]]
        begin = parts[0][0] if parts[0] and parts[0][0].type == "variable_assignment" else None
        if begin is None or len(parts) != 3 or len(parts[1]) != 1 or len(parts[2]) != 1:
            return self._all(body, [state])
        name, place = self._script.of(begin.children[0]), self._script.place(begin.children[0])
        step = (
            1 if self._script.of(parts[2][0]).replace(" ", "") in {f"{name}++", f"++{name}"} else 0
        )
        start = self._expander.number(begin.children[-1], state)
        states = [state]
        if start is None or not step:
            state.assign(name, (Piece(f"${name}", place, known=False, needs=(name,)),), place)
            return self._all(body, states)
        for number in range(start, start + _MOST_ROUNDS):
            for each in states:
                each.assign(name, (Piece(str(number), place),), place)
            if not states or self._expander.number(parts[1][0], states[0]) in {0, None}:
                break
            states = self._all(body, states)
        return states

    def _while(self, node: Node, state: State) -> States:
        condition = [c for c in node.children[1:-1] if c.is_named]
        answer = self._answer(condition, state)
        if node.children[0].type == "until":
            answer = answer.negated()
        if answer.holds is False:
            return [state]
        if answer.holds is True and not answer.assumed:
            return self._all([node.children[-1]], [state])
        # How often it runs is not known: what it starts counts, what it assigns does not.
        states = self._all([*condition, node.children[-1]], [state.copy()])
        return [state, *(after for after in states if after.returned)]

    def _list(self, node: Node, state: State) -> States:
        operator = next((c.type for c in node.children if c.type in {"&&", "||"}), "&&")
        sides = _named(node)
        if len(sides) != _SIDES:
            return self._all(sides, [state])
        left, right = sides
        if self._conditions.is_test(left):
            answer = self._conditions.judge(left, state)
            yes, no = ([right], []) if operator == "&&" else ([], [right])
            return self._either(answer, state, yes, no)
        states = self._statement(left, [state])
        if operator == "&&":
            return self._all([right], states)
        self._in_copies([right], states)
        return states

    def _redirected(self, node: Node, state: State) -> States:
        body = node.children[0]
        text = here_text(self._script, self._expander, node, state)
        inner = next((c for c in _outer(body) if c.type == "command"), None)
        if text is not None and inner is not None:
            self._here[inner.id] = text
        states = self._statement(body, [state]) if body.is_named else [state]
        for redirect in node.children[1:]:
            # `cmd <<EOF || other`: the rest of the line hangs inside of the redirection.
            for child in redirect.children if redirect.type == "heredoc_redirect" else ():
                if child.type in {"command", "pipeline", "list", "redirected_statement"}:
                    self._in_copies([child], states)
        for each in states:
            written = file_written(self._script, self._expander, node, text, each)
            if written is not None:
                each.files[written.path] = written
        return states

    def _output(self, node: Node, state: State) -> Value | None:
        return printed(self._script, self._expander, node, state)


_GROUPS = frozenset(
    {
        *("negated_command", "compound_statement", "do_group", "program", "ERROR"),
        "variable_assignments",
    }
)
_KINDS: dict[str, Callable[[Run, Node, State], States]] = {
    "command": Run._command,
    "variable_assignment": Run._assignment,
    "declaration_command": Run._declaration,
    "unset_command": Run._unset,
    "if_statement": Run._if,
    "case_statement": Run._case,
    "for_statement": Run._for,
    "select_statement": Run._for,
    "c_style_for_statement": Run._counted,
    "while_statement": Run._while,
    "function_definition": Run._define,
    "list": Run._list,
    "pipeline": Run._aside,
    "subshell": Run._aside,
    "redirected_statement": Run._redirected,
}


def _clauses(node: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """Of an if or elif: the condition, the body, the clauses that follow."""
    then = next((i for i, c in enumerate(node.children) if c.type == "then"), len(node.children))
    condition = [c for c in node.children[1:then] if c.is_named and c.type != "comment"]
    rest = [c for c in node.children if c.type in {"elif_clause", "else_clause"}]
    body = [c for c in node.children[then:] if c.is_named and c not in rest]
    return condition, body, rest


def _named(node: Node) -> list[Node]:
    return [c for c in node.children if c.is_named and c.type != "comment"]


def _outer(node: Node) -> list[Node]:
    return [node, *(c for c in node.children if c.is_named)]


def _behind(word: Value, count: int) -> Value:
    """A word without its first characters."""
    found: list[Piece] = []
    for piece in word:
        if count >= len(piece.text):
            count -= len(piece.text)
            continue
        from_start = piece.places.between(count, len(piece.text))
        text = piece.text[count:]
        found.append(Piece(text, from_start, piece.known, piece.needs))
        count = 0
    return tuple(found)


def _first_line(value: Value) -> Value:
    found: list[Piece] = []
    for piece in value:
        end = piece.text.find("\n")
        if end >= 0:
            return (*found, part(piece, 0, end))
        found.append(piece)
    return tuple(found)


def _stripped(value: Value) -> Value:
    """Without the blanks around it."""
    pieces = list(value)
    while pieces and not pieces[0].text.lstrip():
        del pieces[0]
    while pieces and not pieces[-1].text.rstrip():
        del pieces[-1]
    if pieces:
        text = pieces[0].text
        pieces[0] = part(pieces[0], len(text) - len(text.lstrip()), len(text))
        pieces[-1] = part(pieces[-1], 0, len(pieces[-1].text.rstrip()))
    return tuple(pieces)
