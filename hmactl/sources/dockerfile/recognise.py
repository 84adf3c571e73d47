"""Telling a Dockerfile by its content."""

import re

_FROM = re.compile(r"FROM(\s+--\S+)*\s+[^\s:]\S*(\s+AS\s+\S+)?", re.IGNORECASE)
_ARG = re.compile(r"ARG\s+\w+(=.*)?", re.IGNORECASE)


def looks_like_dockerfile(text: str) -> bool:
    """Whether a text begins as a Dockerfile does: with FROM, or with ARG and FROM."""
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or _ARG.fullmatch(stripped):
            continue
        return _FROM.fullmatch(stripped) is not None
    return False
