"""The page about start-up logs that users posted, from tests/cases/startup-logs.json.

    python -m tools.startup_logs [--check]

For maintainers. Writes docs/logs.md; with --check it only says, by exit status 1, that the page is
not the one that the cases make.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CASES = ROOT / "tests" / "cases" / "startup-logs.json"
PAGE = ROOT / "docs" / "logs.md"

_HEAD = """# What users' servers logged, and what the plan says

vLLM prints at its start how much memory is left for the KV cache, and what it made of it. Below are
such lines that people posted in public, and the plan that hmactl makes for that memory on a
virtual GPU. {reproduced} of {asked} points that can be asked come out with the same tokens, and the
same concurrency to two decimals where it was printed. Each of the others is explained.

- The log rounds the memory to a hundredth of a GiB. The plan was asked for an amount inside of
  that rounding whose blocks give the printed tokens; there is none where the plan differs.
- **asked** is the release that was asked: the one that the log names, or the nearest that is
  installed. A development build counts as the release before or after it. Where the log names no
  release, one was taken that prints tokens as the log does (up to 0.20.0
  `blocks // groups * block size`, later `concurrency * max_model_len`).
- Two points have no memory, or that of the GPU that does not decide: it is taken from the tokens,
  so that only the concurrency is a test.
- Gemma 4 and Granite 4 were asked of 0.20.0 beside transformers 5.6.2: with a transformers of
  today, which those releases allow, vLLM itself refuses these models.
- AMD and unnamed GPUs are not virtualised; an H100 stands in for them, which here only settles the
  block size.
- Quantised weights do not touch the KV cache: the config of the unquantised model stands for its
  quantised forms where only that was to be had. `tests/cases/startup-logs.json` has every config
  with where it is from, every flag, and the plans; `tests/engine/test_startup_logs.py` holds them.
- *A file on GitHub* is one whose repository is not known; it is weaker evidence.

| point | source | model | vLLM logged | asked | GiB | logged: tokens, requests | planned | why |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

_NOT_ASKED = """
# Points that cannot be asked

| point | source | model | vLLM logged | GiB | logged: tokens, requests | why not |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page(cases: dict[str, Any]) -> str:
    """The whole page."""
    points = cases["points"]
    reproduced = sum(point["why"] is None for point in points)
    head = _HEAD.format(reproduced=reproduced, asked=len(points))
    return head + "".join(_rows(points)) + _NOT_ASKED + "".join(_others(cases["not_asked"]))


def _rows(points: Iterable[dict[str, Any]]) -> Iterator[str]:
    for point in points:
        planned = point["planned"][point["asked"]]
        yield _row(
            *_about(point),
            point["asked"],
            _gib(point["available_gib"]),
            _figures(point["tokens"], point["concurrency"]),
            "the same" if point["why"] is None else _figures(*planned[1:]),
            point["why"] or "",
        )


def _others(points: Iterable[dict[str, Any]]) -> Iterator[str]:
    for point in points:
        yield _row(
            *_about(point),
            _gib(point["available_gib"]),
            _figures(point["tokens"], point["concurrency"]),
            point["why"],
        )


def _about(point: dict[str, Any]) -> tuple[str, ...]:
    source = point["source"]
    link = f"[{source}]({point['url']})" if point["url"] else source
    return point["id"], link, point["model"], point["vllm"] or "not stated"


def _gib(memory: float | None) -> str:
    return "not stated" if memory is None else f"{memory:.2f}"


def _figures(tokens: int | None, concurrency: float | None) -> str:
    parts = [] if tokens is None else [f"{tokens:,}"]
    parts += [] if concurrency is None else [f"{concurrency:.2f}x"]
    return ", ".join(parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def main() -> None:
    """Write the page, or say whether it is up to date."""
    text = page(json.loads(CASES.read_text("utf-8")))
    if "--check" in sys.argv[1:]:
        sys.exit(PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
