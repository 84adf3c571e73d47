"""``hmactl gpus``."""

import json

import pytest
from click.testing import CliRunner

from hmactl.catalogue.gpus import all_gpus, find_gpu
from hmactl.cli import main


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["gpus", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_table_is_plain_and_aligned() -> None:
    header, *rows = _run().splitlines()
    assert len(rows) == len(all_gpus())
    assert "\x1b" not in header + "".join(rows)
    assert {len(row) for row in rows} == {len(header)}
    columns = [header.index(title) for title in ("ID", "DRIVER'S NAME")]
    for gpu, row in zip(all_gpus(), rows, strict=True):
        assert row[columns[0] :].startswith(f"{gpu.id} ")
        assert row[columns[1] :].startswith(f"{gpu.name} ")
        assert row.endswith(f" {gpu.sm_count}")


def test_a_row_has_the_numbers_of_its_gpu() -> None:
    # 81559 MiB / 1024 = 79.647...
    row = next(line for line in _run().splitlines() if line.startswith("H100-80GB "))
    assert row.split()[-4:] == ["9.0", "79.65", "79.18", "132"]


def test_verbose_adds_aliases_and_source_below_each_row() -> None:
    plain = _run().splitlines()
    verbose = _run("-v").splitlines()
    assert [line for line in verbose if not line.startswith("    ")] == plain
    for word in ("aliases:", "source:"):
        assert sum(line.startswith(f"    {word}") for line in verbose) == len(all_gpus())
    text = " ".join(" ".join(verbose).split())
    for gpu in all_gpus():
        assert gpu.source in text


@pytest.mark.parametrize("verbose", [False, True])
def test_json(verbose: bool) -> None:
    answer = json.loads(_run("--format", "json", *(["-v"] if verbose else [])))
    assert [gpu["id"] for gpu in answer["gpus"]] == [gpu.id for gpu in all_gpus()]
    first = find_gpu(answer["gpus"][0]["id"])
    assert first is not None
    assert answer["gpus"][0]["usable_memory"] == first.usable_memory
    assert answer["gpus"][0]["capability"] == list(first.capability)
    for gpu in answer["gpus"]:
        assert {"aliases", "source"} <= set(gpu) or not verbose
        assert verbose or not {"aliases", "source"} & set(gpu)


def test_another_format_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["gpus", "--format", "yaml"]).exit_code == 2
