"""What only the reader of a Dockerfile can see to be wrong."""

import re
from collections.abc import Iterator, Sequence

from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.process.word import Word
from hmactl.sources.wording import shortened

_LIST = re.compile(r"\[\s*[\"'].*\]", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*[^}]*\})")
_SHELL_OPTION = re.compile(r"-[a-z]*c")


def lost_quotes(origin: Origin) -> Finding:
    """JSON in ``ENV`` that stands in no quotes of its own."""
    return Finding(
        "K8S025",
        Severity.ERROR,
        "Docker removes the double quotes of the JSON in this variable",
        "who reads the variable gets text that is no JSON",
        "put single quotes around the JSON",
        origin,
    )


def no_json(text: str, origin: Origin, keyword: str) -> Iterator[Finding]:
    """A list that looks like the exec form and is no JSON."""
    if _LIST.fullmatch(text.strip()):
        yield Finding(
            "K8S028",
            Severity.ERROR,
            f"the list behind {keyword} is no JSON, so Docker hands it to the shell as it stands",
            "the container ends with: not found",
            "use double quotes and commas, no comma behind the last item, and write a quote inside "
            'of an item as `\\"`',
            origin,
        )


def not_expanded(words: Sequence[Word], keyword: str) -> Iterator[Finding]:
    """A variable in the exec form, behind which there is no shell."""
    if any(_SHELL_OPTION.fullmatch(word.text) for word in words[:3]):
        return
    for word in words:
        if (match := _VARIABLE.search(word.text)) is not None:
            yield Finding(
                "K8S029",
                Severity.ERROR,
                f"`{shortened(match[0])}` in the list of {keyword} is not replaced: no shell runs",
                "the program gets the text as it stands",
                f"write {keyword} without the list, for the shell; or "
                '`["sh", "-c", "exec vllm serve ..."]`',
                word.origin,
            )


def ignored_command(origin: Origin) -> Finding:
    """``CMD``, or a command of who starts the container, beside an ``ENTRYPOINT`` for the shell."""
    return Finding(
        "K8S030",
        Severity.ERROR,
        "the image's ENTRYPOINT is written for the shell, which takes these arguments as its own",
        "they never reach the server, and neither do those of `docker run`",
        'write ENTRYPOINT as a list: `ENTRYPOINT ["vllm", "serve"]`',
        origin,
    )
