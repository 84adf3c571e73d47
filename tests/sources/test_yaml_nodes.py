"""YAML as plain values with places, whatever the text."""

import random
from pathlib import Path

import pytest

from hmactl.deployment.setting import Json
from hmactl.sources.node import Node, Position
from hmactl.sources.profile import read_profiles
from hmactl.sources.yaml_nodes import read_documents

pytestmark = pytest.mark.timeout(60)

_MIB = 1 << 20
_ROOT = Path(__file__).parents[2]


def _root(text: str) -> Node:
    (document,) = read_documents("a.yaml", text)
    assert document.findings == ()
    assert document.root is not None
    return document.root


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("text", "text"),
        ('"1"', "1"),
        ("'yes'", "yes"),
        ("yes", True),
        ("Off", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("010", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("-1.5", -1.5),
        ("1.0e+3", 1000.0),
        ("1e3", "1e3"),
        ("1:30", "1:30"),
        ("1:30.5", "1:30.5"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
        ("=", "="),
        ("<<", "<<"),
        ("! 12", 12),
        ('!!int "12"', 12),
        ("!!str 12", "12"),
        ("!!float 1", 1.0),
        ("[1, a]", [1, "a"]),
        ("{a: 1}", {"a": 1}),
        ("!!seq []", []),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_values(written: str, value: Json) -> None:
    read = _root(f"key: {written}\n").value
    assert isinstance(read, dict)
    assert read == {"key": value}
    assert type(read["key"]) is type(value)


def test_places_of_keys_and_values() -> None:
    root = _root("a:\n  b: [x, {c: é y}]\n  'd':   z\ne:\n- f\n")
    assert root.key_position(("a",)) == Position(1, 1)
    assert root.value_position(("a",)) == Position(2, 3)
    assert root.key_position(("a", "b")) == Position(2, 3)
    assert root.value_position(("a", "b")) == Position(2, 6)
    assert root.value_position(("a", "b", 0)) == Position(2, 7)
    assert root.key_position(("a", "b", 1, "c")) == Position(2, 11)
    assert root.value_position(("a", "b", 1, "c")) == Position(2, 14)
    assert root.key_position(("a", "d")) == Position(3, 3)
    assert root.value_position(("a", "d")) == Position(3, 10)
    assert root.value_position(("e", 0)) == Position(5, 3)
    # What is not there is where the nearest value around it is.
    assert root.value_position(("a", "none", 3)) == Position(2, 3)
    assert root.key_position(("a", "b", 1)) == Position(2, 10)


def test_columns_count_characters_not_bytes() -> None:
    assert _root("{é: 1, ü: 2}").key_position(("ü",)) == Position(1, 8)


def test_an_alias_stands_where_it_is_written_and_its_inside_at_the_anchor() -> None:
    root = _root("a: &x\n  b: 1\nc: *x\nd: [*x, *x]\n")
    assert root.value == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}
    assert root.value_position(("c",)) == Position(3, 4)
    assert root.key_position(("c", "b")) == Position(2, 3)
    assert root.value_position(("d", 1, "b")) == Position(2, 6)


def test_an_alias_can_be_a_key_and_an_anchor_can_be_given_again() -> None:
    root = _root("x: &a one\ny: *a\nz: &a two\nw: *a\n*a : key\n")
    assert root.value == {"x": "one", "y": "one", "z": "two", "w": "two", "two": "key"}


def test_anchors_end_with_their_document() -> None:
    first, second = read_documents("a.yaml", "a: &x 1\n---\nb: *x\n")
    assert first.findings == ()
    assert [finding.id for finding in second.findings] == ["PRO002"]


def test_the_deepest_allowed_and_one_deeper() -> None:
    assert read_documents("a.yaml", "[" * 64 + "]" * 64)[0].findings == ()
    (document,) = read_documents("a.yaml", "[" * 65 + "]" * 65)
    assert document.root is None
    (finding,) = document.findings
    assert (finding.id, finding.origin.line, finding.origin.column) == ("PRO008", 1, 65)


@pytest.mark.parametrize(
    "text",
    [
        "[" * _MIB,
        "{a: " * (_MIB // 4),
        "- " * (_MIB // 2),
        "? " * (_MIB // 2),
        "a:\n" + "".join(" " * depth + "a:\n" for depth in range(1, 1400)),
        "[" + "1," * (_MIB // 2 - 2) + "]",
        "---\n" * (_MIB // 4),
    ],
    ids=["lists", "mappings", "items", "keys", "indentation", "values", "documents"],
)
def test_a_mebibyte_of_hostile_yaml_is_one_finding(text: str) -> None:
    documents = read_documents("a.yaml", text)
    assert [finding.id for document in documents for finding in document.findings] == ["PRO008"]
    assert documents[-1].root is None


def test_the_sum_of_many_aliases_counts_not_only_the_deepest() -> None:
    few = "a: &a [" + "x, " * 99 + "]\nb: [" + "*a, " * 400 + "]\n"
    assert read_documents("a.yaml", few)[0].findings == ()
    many = "a: &a [" + "x, " * 99 + "]\nb: [" + "*a, " * 600 + "]\n"
    (finding,) = read_documents("a.yaml", many)[0].findings
    assert finding.id == "PRO008"


def test_a_tag_is_never_obeyed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    (document,) = read_documents("a.yaml", f"a: !!python/object/apply:os.mkdir ['{witness}']\n")
    assert [finding.id for finding in document.findings] == ["PRO008"]
    assert not witness.exists()


def test_no_text_raises() -> None:
    """Mutated profiles: whatever comes out, it is findings that point into the text."""
    chance = random.Random(20240229)
    originals = [path.read_text("utf-8") for path in sorted(_ROOT.glob("profiles/*.yaml"))]
    originals += [
        path.read_text("utf-8") for path in sorted(_ROOT.glob("tests/cases/profiles/*.yaml"))
    ]
    pieces = [*"\t\n :[]{}&*!|>'\"%@`#,-?~<0é\0\x85\u2028", "&a ", "*a", "!!int ", "<<: ", "---\n"]
    for _ in range(1500):
        text = chance.choice(originals)
        for _ in range(chance.randint(1, 6)):
            place = chance.randint(0, len(text))
            end = place + chance.choice([0, 0, 1, 8])
            text = text[:place] + chance.choice(["", *pieces]) + text[end:]
        lines = text.count("\n") + text.count("\x85") + text.count("\u2028") + 1
        for document in read_profiles("a.yaml", text):
            assert document.deployment is not None or document.findings
            for finding in document.findings:
                assert finding.id.startswith("PRO00")
                assert 0 <= (finding.origin.line or 0) <= lines
