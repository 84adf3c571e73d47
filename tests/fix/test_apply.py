"""Edits change exactly what they say, and nothing where the text is another one."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmactl.deployment.setting import COMMAND_LINE, Origin
from hmactl.finding import Edit, Finding, Severity, edit_at
from hmactl.fix.apply import apply_edits, as_diff, edits_of, fix_file
from hmactl.fix.place import region
from hmactl.fix.replace_file import ChangedError


def edit(line: int, column: int, old: str, new: str, behind: str = "") -> Edit:
    return Edit("f", line, column, old, new, behind)


@pytest.mark.parametrize(
    ("text", "made", "after"),
    [
        ("sise: 1 # keep\r\n", edit(1, 1, "sise", "size"), "size: 1 # keep\r\n"),
        ("a: é\nb: 'sise'", edit(2, 5, "sise", "size"), "a: é\nb: 'size'"),
        ("\ufeffsise: 1", edit(1, 1, "sise", "size"), "\ufeffsize: 1"),
        ("é sise", edit(1, 3, "sise", "size"), "é size"),
        ("x --flag true y", edit(1, 3, "--flag true", "--flag"), "x --flag y"),
        ("chunk_size:  200", edit(1, 1, "200", "192", "chunk_size"), "chunk_size:  192"),
        ("--chunk_size=200 x", edit(1, 1, "200", "192", "chunk-size"), "--chunk_size=192 x"),
        ("s --chunk-size 200", edit(1, 3, "200", "192", "chunk-size"), "s --chunk-size 192"),
        ('{"a.b": 200}', edit(1, 2, "200", "192", "a.b"), '{"a.b": 192}'),
        ('X="yes" # x', edit(1, 1, "yes", "true", "X"), 'X="true" # x'),
    ],
)
def test_made(text: str, made: Edit, after: str) -> None:
    applied = apply_edits(text, [made])
    assert (applied.text, applied.made, applied.refused) == (after, (made,), ())


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("size: 1", edit(1, 1, "sise", "size")),
        (" sise: 1", edit(1, 1, "sise", "size")),
        ("sise_x: 1", edit(1, 1, "sise", "size")),
        ("x-sise: 1", edit(1, 3, "sise", "size")),
        ("sise.x: 1", edit(1, 1, "sise", "size")),
        ("a", edit(2, 1, "sise", "size")),
        ("sise", edit(0, 1, "sise", "size")),
        ("sise", edit(1, 0, "sise", "size")),
        ("a\nsise", edit(1, 3, "sise", "size")),
        ("a\nb", edit(1, 1, "a\nb", "c")),
        ("x", edit(1, 1, "", "c")),
        ("", edit(1, 1, "a", "c")),
        ("chunk_size: 2000", edit(1, 1, "200", "192", "chunk_size")),
        ("chunk_size:\n200", edit(1, 1, "200", "192", "chunk_size")),
        ("chunk_size: ${X:-200}", edit(1, 1, "200", "192", "chunk_size")),
        ("my_chunk_size: 200", edit(1, 4, "200", "192", "chunk_size")),
        ("- --flag\n- true", edit(1, 3, "--flag true", "--flag")),
    ],
)
def test_refused_where_the_text_is_another(text: str, refused: Edit) -> None:
    applied = apply_edits(text, [refused])
    assert (applied.text, applied.made) == (text, ())
    assert [one.edit for one in applied.refused] == [refused]


def test_edits_that_overlap_are_refused_and_others_made() -> None:
    edits = [edit(1, 1, "a b", "x"), edit(1, 3, "b c", "y"), edit(1, 7, "d", "z")]
    applied = apply_edits("a b c d", edits)
    assert applied.text == "a b c z"
    assert [one.edit for one in applied.refused] == edits[:2]


def test_two_ways_to_change_one_place_are_both_refused() -> None:
    applied = apply_edits("a b", [edit(1, 1, "a", "x"), edit(1, 1, "a", "y")])
    assert (applied.text, len(applied.refused)) == ("a b", 2)


def test_the_same_edit_twice_is_one() -> None:
    assert apply_edits("a b", [edit(1, 1, "a", "x")] * 2).text == "x b"


_PIECES = st.lists(
    st.tuples(
        st.text(alphabet="\n\r\t :=#'\"\u2192\u2028{}", min_size=1),
        st.sampled_from(["sise", "yes", "chunk"]),
        st.sampled_from(["size", "true", "", "ä b"]),
        st.booleans(),
    ),
    max_size=8,
)


@given(_PIECES, st.randoms())
def test_only_the_places_of_the_edits_change(
    pieces: list[tuple[str, str, str, bool]], random: object
) -> None:
    text, expected, edits = "", "", []
    for between, old, new, wanted in pieces:
        text, expected = text + between, expected + between
        if wanted:
            edits.append(edit(text.count("\n") + 1, len(text) - text.rfind("\n"), old, new))
        text, expected = text + old, expected + (new if wanted else old)
    random.shuffle(edits)  # type: ignore[attr-defined]
    applied = apply_edits(text, edits)
    assert applied.text == expected
    assert applied.refused == ()
    assert set(applied.made) == set(edits)


_PLACES = st.builds(
    Edit,
    st.just("f"),
    st.integers(-1, 6),
    st.integers(-1, 12),
    st.sampled_from(["a", "a b", "b", ": ", "200", ""]),
    st.sampled_from(["", "a", "b a", "192"]),
    st.sampled_from(["", "a", "b"]),
)


@given(st.text(alphabet="ab2 0:=\n\"'-", max_size=40), st.lists(_PLACES, max_size=6))
def test_every_edit_is_made_or_refused_and_a_file_is_fixed_once(
    text: str, edits: list[Edit]
) -> None:
    applied = apply_edits(text, edits)
    assert {*applied.made, *(one.edit for one in applied.refused)} == set(edits)
    if not applied.made:
        assert applied.text == text


def test_a_file_is_fixed_once(tmp_path: Path) -> None:
    file, text = tmp_path / "a.yaml", "a: 1\r\nb: 2"
    file.write_bytes(text.encode())
    file.chmod(0o640)
    fix_file(file, text, [edit(1, 1, "a", "a b")])
    with pytest.raises(ChangedError):
        fix_file(file, text, [edit(1, 1, "a", "a b")])
    assert file.read_bytes() == b"a b: 1\r\nb: 2"
    assert file.stat().st_mode & 0o777 == 0o640


def test_without_an_edit_to_make_the_file_is_not_touched(tmp_path: Path) -> None:
    assert fix_file(tmp_path / "none", "a", [edit(1, 1, "b", "c")]).made == ()


def test_unsafe_edits_are_asked_for() -> None:
    origin = Origin("f", 1, 1)
    edits = [edit_at(origin, "a", "b"), edit_at(origin, "c", "d", safe=False), None]
    found = [Finding("X", Severity.ERROR, "", "", "", origin, one) for one in edits]
    assert {source: len(e) for source, e in edits_of([*found, *found]).items()} == {"f": 1}
    assert len(edits_of(found, unsafe=True)["f"]) == 2


def test_what_stands_in_no_file_has_no_edit() -> None:
    assert edit_at(COMMAND_LINE, "a", "b") is None


def test_diff() -> None:
    assert as_diff("d/a", "x\ny\n", "x\ny\n") == ""
    assert as_diff("d/a", "x\ny", "x\nz") == (
        "--- a/d/a\n+++ b/d/a\n@@ -1,2 +1,2 @@\n x\n"
        "-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n"
    )


def test_many_edits_of_a_large_file_take_no_longer_than_reading_it() -> None:
    count = 20_000
    text = "".join(f"sise{n}: 1\n" for n in range(count))
    edits = [edit(n + 1, 1, f"sise{n}", f"size{n}") for n in range(count)]
    begin = time.process_time()
    applied = apply_edits(text, edits)
    regions = [region(text, one) for one in edits]
    assert time.process_time() - begin < 3
    assert applied.text == text.replace("sise", "size")
    assert regions[-1] == (count, 1, count, 10, f"size{count - 1}")
