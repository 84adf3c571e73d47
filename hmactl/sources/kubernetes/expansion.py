"""Kubernetes' own ``$(NAME)`` in command, args and the values of variables.

As k8s.io/kubernetes/third_party/forked/golang/expansion has it: ``$$`` is a ``$``, and what no
variable is known for stays as it is written. No shell has a part in it.
"""

import re
from collections.abc import Callable, Iterator

from hmactl.sources.shell.value import Piece, Value, part

Resolve = Callable[[str, Piece], Value]
"""The value of a variable by its name; the piece is the reference as written."""

_PLACEHOLDER = re.compile(
    r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"  # envsubst's
    r"|\$[A-Z_][A-Z0-9_]*"
    r"|\{\{-?\s*[.$\w][^{}]*\}\}"  # a template's
)


def expanded(value: Value, resolve: Resolve) -> Value:
    """The value with every ``$(NAME)`` in its known parts replaced."""
    return tuple(
        replaced
        for piece in value
        for replaced in (_piece(piece, resolve) if piece.known else (piece,))
    )


def _piece(piece: Piece, resolve: Resolve) -> Iterator[Piece]:
    text, kept = piece.text, 0
    at = text.find("$")
    while 0 <= at < len(text) - 1:
        end = text.find(")", at) if text[at + 1] == "(" else -1
        if text[at + 1] == "$":
            yield part(piece, kept, at + 1)
            kept = at + 2
        elif end >= 0:
            if at > kept:
                yield part(piece, kept, at)
            yield from resolve(text[at + 2 : end], part(piece, at, end + 1))
            kept = end + 1
        else:
            at = text.find("$", at + 1)
            continue
        at = text.find("$", kept)
    if kept < len(text) or not text:
        yield part(piece, kept, len(text))


def filled(value: Value, resolve: Resolve) -> Value:
    """The value with what envsubst or a template would replace before the manifest is applied."""
    found: list[Piece] = []
    for piece in value:
        kept = 0
        for match in _PLACEHOLDER.finditer(piece.text) if piece.known else ():
            if match.start() > kept:
                found.append(part(piece, kept, match.start()))
            found += resolve(match[0].strip("${}- ."), part(piece, *match.span()))
            kept = match.end()
        if kept < len(piece.text) or not piece.text:
            found.append(part(piece, kept, len(piece.text)))
    return tuple(found)
