"""Whether a condition of a script holds, as far as that can be told."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hmactl.sources.shell.expand import Expander
from hmactl.sources.shell.state import Node, State
from hmactl.sources.shell.tree import Script
from hmactl.sources.shell.value import known_text

_OR_NOTHING = re.compile(r'"?\$\{([A-Za-z_]\w*):?-\}"?')
_NUMBERS = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """``holds`` None: it cannot be known. ``assumed``: True if what nobody set is really unset."""

    holds: bool | None
    assumed: bool = False

    def negated(self) -> "Answer":
        """The answer to the opposite question."""
        return Answer(None if self.holds is None else not self.holds, self.assumed)


UNKNOWN = Answer(None)


class Conditions:
    """Judges the conditions of one script."""

    def __init__(self, script: Script, expander: Expander) -> None:
        self._script = script
        self._expander = expander

    def is_test(self, node: Node) -> bool:
        """Whether it is a test, so that its status says something that hmactl may know."""
        match node.type:
            case "test_command":
                return True
            case "negated_command":
                return bool(node.children) and self.is_test(node.children[-1])
            case "command":
                return self._script.of(node.children[0]) in {"test", "[", "true", "false", ":"}
            case "list":
                return all(self.is_test(child) for child in node.children if child.is_named)
        return False

    def judge(self, node: Node, state: State) -> Answer:
        """Whether a command that is a condition ends with status 0."""
        children = [child for child in node.children if child.is_named]
        match node.type:
            case "test_command":
                return self._expression(children[0], state) if len(children) == 1 else UNKNOWN
            case "negated_command" if children:
                return self.judge(children[-1], state).negated()
            case "list" if len(children) == 2:
                answers = [self.judge(child, state) for child in children]
                return _joined(answers, all_of=any(c.type == "&&" for c in node.children))
            case "command":
                return self._command(node, state)
            case "subshell" | "compound_statement" | "redirected_statement" if len(children) == 1:
                return self.judge(children[0], state)
        return UNKNOWN

    def _command(self, node: Node, state: State) -> Answer:
        words = [known_text(word) for word in self._expander.words(node.children, state)]
        match words:
            case ["true" | ":", *_]:
                return Answer(True)
            case ["false", *_]:
                return Answer(False)
            case ["test", operator, operand] if operator in {"-z", "-n"}:
                return _emptiness(operator, operand)
            case ["test", left, "=" | "==" as operator, right]:
                return _equality(operator, left, right)
            case ["test", left, "!=" as operator, right]:
                return _equality(operator, left, right)
        return UNKNOWN

    def _expression(self, node: Node, state: State) -> Answer:
        children = [child for child in node.children if child.is_named]
        match node.type:
            case "parenthesized_expression" if len(children) == 1:
                return self._expression(children[0], state)
            case "unary_expression" if children and children[0].type == "test_operator":
                return self._unary(self._script.of(children[0]), children[1:], state)
            case "unary_expression" if len(children) == 1:
                return self._expression(children[0], state).negated()
            case "binary_expression" if len(children) == 2:
                operator = next(c.type for c in node.children if not c.is_named)
                return self._binary(operator, children[0], children[1], state)
            case "binary_expression" if len(children) == 3:
                operator = self._script.of(children[1])
                return self._binary(operator, children[0], children[2], state)
            case "string" | "word" | "simple_expansion" | "expansion" | "concatenation":
                return _emptiness("-n", self._text(node, state), assumed=self._assumes(node, state))
        return UNKNOWN

    def _unary(self, operator: str, operands: Sequence[Node], state: State) -> Answer:
        if len(operands) != 1:
            return UNKNOWN
        operand = operands[0]
        if operator == "-v":
            return Answer(self._script.of(operand) in state.variables, assumed=True)
        if operator in {"-z", "-n"}:
            assumed = self._assumes(operand, state)
            return _emptiness(operator, self._text(operand, state), assumed=assumed)
        return UNKNOWN

    def _binary(self, operator: str, left: Node, right: Node, state: State) -> Answer:
        if operator in {"&&", "||", "-a", "-o"}:
            answers = [self._expression(side, state) for side in (left, right)]
            return _joined(answers, all_of=operator in {"&&", "-a"})
        texts = self._text(left, state), self._text(right, state)
        if operator in {"=", "==", "!="}:
            assumed = self._assumes(left, state) or self._assumes(right, state)
            return _equality(operator, *texts, assumed=assumed)
        compare = _NUMBERS.get(operator)
        if compare is None or texts[0] is None or texts[1] is None:
            return UNKNOWN
        try:
            return Answer(compare(int(texts[0]), int(texts[1])))
        except ValueError:
            return UNKNOWN

    def _text(self, node: Node, state: State) -> str | None:
        return known_text(self._expander.value(node, state))

    def _assumes(self, node: Node, state: State) -> bool:
        """Whether it is a variable that nobody set."""
        defaulted = _OR_NOTHING.fullmatch(self._script.of(node))
        if defaulted is not None:
            return defaulted[1] not in state.variables
        value = self._expander.value(node, state)
        return bool(value) and all(not p.known and p.needs for p in value)


def _emptiness(operator: str, text: str | None, *, assumed: bool = False) -> Answer:
    if assumed:
        return Answer(operator == "-z", assumed=True)
    return UNKNOWN if text is None else Answer((not text) is (operator == "-z"))


def _equality(
    operator: str, left: str | None, right: str | None, *, assumed: bool = False
) -> Answer:
    if assumed and (left == "" or right == ""):
        return Answer(operator != "!=", assumed=True)
    if left is None or right is None:
        return UNKNOWN
    return Answer(fnmatch.fnmatchcase(left, right) is (operator != "!="))


def _joined(answers: Sequence[Answer], *, all_of: bool) -> Answer:
    assumed = any(answer.assumed for answer in answers)
    holds = [answer.holds for answer in answers]
    if (not all_of) in holds:
        deciding = [a for a in answers if a.holds is (not all_of)]
        return Answer(not all_of, all(answer.assumed for answer in deciding))
    return Answer(None if None in holds else all_of, assumed)
