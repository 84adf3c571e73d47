"""Comments that suppress findings, in every form that has comments."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.deployment.form import Form
from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.suppress.inline import Judged, suppress

KNOWN = ("CLI001", "LMC009", "LMC012", "SUP001", "SUP002")


def finding(line: int | None, identifier: str = "LMC012", source: str = "f") -> Finding:
    return Finding(identifier, Severity.ERROR, "m", "c", "f", Origin(source, line, 1))


def judge(text: str, *found: Finding, form: Form | None = None) -> list[Judged]:
    return suppress("f", text, found, KNOWN, form=form)


@dataclass(frozen=True)
class Covered:
    """``lines`` are those of the text at which LMC012 is suppressed."""

    name: str
    text: str
    lines: tuple[int, ...]
    form: Form | None = None


CASES = [
    Covered("end of the line", "a: 1\nb: 2  # hmactl: ignore[LMC012] why\nc: 3", (2,)),
    Covered("alone above", "a: 1\n  # hmactl: ignore[LMC012]\n  b: 2\nc: 3", (2 + 1,)),
    Covered("above, comments between", "# hmactl: ignore[LMC012]\n# it is so\nb: 2\nc: 3", (3,)),
    Covered("no blank", "#hmactl:ignore[ lmc012 , CLI001 ]\nb: 2", (2,)),
    Covered("behind another comment", "b: 2 # 20 GB # hmactl: ignore[LMC012]", (1,)),
    Covered("a blank line ends it", "# hmactl: ignore[LMC012]\n\nb: 2", (2,)),
    Covered("the whole file", "a: 1\n# hmactl: ignore-file[LMC012]\nb: 2", (1, 2, 3)),
    Covered("no comment without a blank", "b: 2# hmactl: ignore[LMC012]", ()),
    Covered("a block", "b: |  # hmactl: ignore[LMC012]\n  x\n\n  y\nc: 3", (1, 2, 3, 4)),
    Covered("a block with a tag", "# hmactl: ignore[LMC012]\n- k: !!str >-\n    x\n  c: 3", (2, 3)),
    Covered("a block in a list", "# hmactl: ignore[LMC012]\n- |\n  x\n- c", (2, 3)),
    Covered("not a mapping", "b:  # hmactl: ignore[LMC012]\n  x: 1", (1,)),
    Covered("brackets", "# hmactl: ignore[LMC012]\nb: [\n  'a]',  # ]\n  c\n]\nd: 1", (2, 3, 4, 5)),
    Covered("brackets never closed", "# hmactl: ignore[LMC012]\nb: [\nc: 1", (2,)),
    Covered("an apostrophe", "b: don't  # hmactl: ignore[LMC012]\nc: it's", (1,)),
    Covered("quotes", "# hmactl: ignore[LMC012]\nvllm serve --x '{\n\"a\": 1}'\nls", (2, 3)),
    Covered(
        "a command over lines",
        "# hmactl: ignore[LMC012] why\nvllm serve m \\\n  --a 1 \\\n  --b 2\nls",
        (2, 3, 4),
        Form.SHELL,
    ),
    Covered(
        "the last line of a command",
        "vllm serve m \\\n  --a 1 \\\n  --b 2 # hmactl: ignore[LMC012]\nls",
        (3,),
        Form.SHELL,
    ),
    Covered(
        "inside of a Dockerfile's command",
        "RUN a \\\n# hmactl: ignore[LMC012]\n  b \\\n  c\n",
        (3,),
        Form.DOCKERFILE,
    ),
    Covered(
        "a Dockerfile's command with comments in it",
        "# hmactl: ignore[LMC012]\nENV A=1 \\\n# x\n  B=2\nCMD c",
        (2, 3, 4),
        Form.DOCKERFILE,
    ),
    Covered(
        "a Dockerfile's shell", "CMD vllm serve m # hmactl: ignore[LMC012]", (1,), Form.DOCKERFILE
    ),
    Covered("a Dockerfile's value", "ENV A=1 # hmactl: ignore[LMC012]", (), Form.DOCKERFILE),
    Covered("a unit", "; hmactl: ignore[LMC012]\nExecStart=x \\\n y", (2, 3), Form.SYSTEMD),
    Covered("a unit's value", "Environment=A=1 # hmactl: ignore[LMC012]", (), Form.SYSTEMD),
    Covered("Windows' line ends", "# hmactl: ignore[LMC012]\r\nb: 2\r\nc: 3\r\n", (2,)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lines_that_a_comment_covers(case: Covered) -> None:
    count = len(case.text.splitlines())
    judged = judge(case.text, *(finding(n) for n in range(1, count + 1)), form=case.form)
    found = [one.finding.origin.line for one in judged[:count] if one.suppressed is not None]
    assert tuple(found) == case.lines


def test_only_the_rules_that_it_names() -> None:
    (kept, gone) = judge(
        "a: 1 # hmactl: ignore[LMC012] two words", finding(1, "LMC009"), finding(1)
    )
    assert kept.suppressed is None
    assert gone.suppressed == "two words"


def test_a_file_as_a_whole_and_other_files() -> None:
    text = "a: 1 # hmactl: ignore[LMC012]\n# hmactl: ignore-file[CLI001]"
    judged = judge(text, finding(None, "CLI001"), finding(None), finding(1, source="g"), finding(1))
    assert [one.suppressed for one in judged] == ["", None, None, ""]


def _about(text: str, *found: Finding, form: Form | None = None) -> list[str]:
    judged = judge(text, *found, form=form)[len(found) :]
    return [f"{one.finding.id} {one.finding.origin}" for one in judged if one.suppressed is None]


@pytest.mark.parametrize(
    ("text", "found", "about"),
    [
        ("a: 1 # hmactl: ignore[LMC012]", [1], []),
        ("a: 1 # hmactl: ignore[LMC012]", [], ["SUP001 f:1:23"]),
        ("a: 1 # hmactl: ignore[LMC012, LMC009]", [1], ["SUP001 f:1:31"]),
        ("# hmactl: ignore-file[LMC009]", [], ["SUP001 f:1:23"]),
        ("# hmactl: ignore[LMC012]\n\na: 1 # hmactl: ignore[LMC012]", [3], ["SUP001 f:1:18"]),
        ("a: 1 # hmactl: ignore[LMC012, LMC12]", [1], ["SUP002 f:1:31"]),
        ("a: 1 # hmactl: ignore", [1], ["SUP002 f:1:6"]),
        ("a: 1 # hmactl: ignore[] why", [1], ["SUP002 f:1:6"]),
        ("a: 1 # hmactl: disable[LMC012]", [1], ["SUP002 f:1:6"]),
        ("a: 1 # hmactl: checked by CI", [1], []),
        ("# hmactl: ignore-file[SUP001]\na: 1 # hmactl: ignore[LMC009]", [], []),
        ("# hmactl: ignore[SUP001]\na: 1 # hmactl: ignore[LMC009]", [], []),
        ("a: 1 # hmactl: ignore[SUP001]", [1], ["SUP001 f:1:23"]),
    ],
)
def test_what_is_said_about_comments(text: str, found: list[int], about: list[str]) -> None:
    assert _about(text, *map(finding, found)) == about


def test_a_comment_that_is_part_of_a_value_is_told() -> None:
    text = "[Service]\nEnvironment=A=1 # hmactl: ignore[LMC012]\n"
    assert _about(text, form=Form.SYSTEMD) == ["SUP002 f:2:17"]


def test_a_rule_that_was_not_judged_is_not_called_unused() -> None:
    text = "a: 1 # hmactl: ignore[LMC009, LMC012]"
    judged = suppress("f", text, [], KNOWN, judged=lambda rule: rule != "LMC009")
    assert [one.finding.message.split("`")[1] for one in judged] == ["LMC012"]


def test_nearest_id() -> None:
    (one,) = judge("a: 1 # hmactl: ignore[LMC12]")
    assert one.finding.fix == "a similar id exists: `LMC012`"


@given(
    st.text(alphabet="#; \n\\'\"[]{}|>:-ahmactl ignore[LMC012]\t"), st.sampled_from([None, *Form])
)
def test_no_text_makes_it_raise(noise: str, form: Form | None) -> None:
    text = f"{noise}# hmactl: ignore[LMC012]{noise}"
    found = [finding(n) for n in range(1, 9)]
    judged = judge(text, *found, form=form)
    assert [one.finding for one in judged[: len(found)]] == found


def test_a_file_of_nothing_but_comments_takes_no_time() -> None:
    text = "# hmactl: ignore[A1,A2,A3] (\n" * 30_000
    assert len(judge(text)) == 3000
