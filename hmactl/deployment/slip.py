"""Whether one name is another with a slip of the finger."""

_SEPARATORS = str.maketrans("", "", "-_. ")


def is_slip(written: str, meant: str) -> bool:
    """Whether a letter more, one less, another one or two exchanged make the one of the other.

    Case, dashes, underscores and dots do not count.
    """
    one, other = (name.lower().translate(_SEPARATORS) for name in (written, meant))
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    rest, other_rest = one[same:], other[same:]
    if len(one) < len(other):
        return rest == other_rest[1:]
    exchanged = rest[:2] == other_rest[:2][::-1] and rest[2:] == other_rest[2:]
    return rest[1:] == other_rest[1:] or exchanged
