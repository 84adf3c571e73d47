"""Keep secrets, and what would steer a terminal, out of everything that is printed."""

import re

HIDDEN = "***"

# vLLM itself redacts api_key and hf_token; the rest are the usual words for secrets. A token of a
# threshold or of an id is one of text.
_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:api[_\-]?keys?|token(?![_\-](?:threshold|ids?\b))|secrets?|password|passwd"
    r"|credentials?|access[_\-]?key)(?:$|[_\-.])",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<before>[a-z][a-z0-9+.\-]*://[^\s/:@]*):[^\s/@]+@", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"(?P<name>[\w\-.]*(?:api[_\-]?key|token|secret|password|passwd|credential)[\w\-.]*)"
    r"(?P<between>[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"',}]+)",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_BARE_TOKEN = re.compile(r"\b(?:hf|sk|ghp)_[A-Za-z0-9]{16,}\b")


def is_secret_name(name: str) -> bool:
    """Whether a flag, variable or key of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(text: str) -> bool:
    """Whether `redact` would hide a part of the text."""
    return redact(text) != _visible(text)


def redact(text: str) -> str:
    """The text with passwords in addresses, assigned secrets and well-known tokens hidden.

    Control characters, which a profile can spell as escapes, become visible.
    """
    text = _visible(text)
    text = _URL_PASSWORD.sub(rf"\g<before>:{HIDDEN}@", text)
    text = _ASSIGNED.sub(_assignment, text)
    return _BARE_TOKEN.sub(HIDDEN, text)


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def _assignment(match: re.Match[str]) -> str:
    if not is_secret_name(match["name"]):
        return match[0]
    return f"{match['name']}{match['between']}{HIDDEN}"
