"""A text linted, and with the fixes that a lint offers: shared by the tests of fixes."""

from hmactl.fix.apply import apply_edits, edits_of
from hmactl.lint import Pins
from hmactl.lint_files import FileResult, lint_text
from hmactl.sources.given import Given


class Linter:
    """Lints texts for these releases."""

    def __init__(self, vllm: str, lmcache: str | None) -> None:
        self.pins = Pins(vllm, lmcache)

    def lint(self, text: str) -> FileResult:
        """What is found in the text, as the file ``f``."""
        return lint_text("f", text, self.pins, Given(), None, named=True)

    def found(self, text: str) -> set[str]:
        """The rules that have a finding."""
        return {finding.id for finding in self.lint(text).findings}

    def fixed(self, text: str, *, unsafe: bool = False) -> str:
        """The text with all that can be fixed."""
        edits = edits_of(self.lint(text).findings, unsafe=unsafe).get("f", ())
        return apply_edits(text, edits).text


def pod(vllm: str) -> str:
    """A pod as far as its container's ``command`` and ``args``."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v{vllm}
"""


def compose(vllm: str) -> str:
    """A compose file as far as its service's ``command``."""
    return f"services:\n  a:\n    image: vllm/vllm-openai:v{vllm}\n"
