"""Sentences below a heading, in lines of 100 columns."""

import textwrap

_WIDTH = 100


def wrapped(label: str, text: str, indent: str = "  ") -> list[str]:
    """The lines of a labelled text; names and addresses stay whole."""
    return textwrap.wrap(
        f"{label}{text}",
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
