"""How findings show what an operator wrote."""


def shortened(text: str) -> str:
    """A text on one line and short enough for a message."""
    line = " ".join(text[:1000].split())
    return line if len(line) <= 60 else f"{line[:57]}..."
