"""Which brace ends a ``${``."""


def closing_braces(text: str) -> dict[int, int]:
    """The offset of the ``}`` of every ``${`` that has one, by the offset of its ``$``."""
    found: dict[int, int] = {}
    opened: list[int] = []
    at = 0
    while at < len(text):
        if text.startswith("${", at):
            opened.append(at)
            at += 1
        elif text[at] == "}" and opened:
            found[opened.pop()] = at
        at += 1
    return found
