"""The model catalogue from collected configs.

    python tools/model_catalogue.py CONFIGS --as-of 2026-11-30 --out hmactl/catalogue/data/models

CONFIGS holds one config.json per model, ORGANISATION--NAME.json, and SOURCES.md, a table that says
where each is from. Excerpts and class defaults are no facts about a model and are left out, and so
is what `tools/model_names.json` excludes; it also has the hub ids where a file is named otherwise.
What a config lacks that the engine needs to build the model at all is from `tools/sweep_fill.json`,
and kept apart from the facts. Files in the catalogue that come from elsewhere stay. Writes an index
by hub id besides.
"""

import argparse
import fnmatch
import json
import re
from pathlib import Path
from typing import Any

_NAMES = json.loads(Path(__file__).with_name("model_names.json").read_text("utf-8"))
_FILLS = json.loads(Path(__file__).with_name("sweep_fill.json").read_text("utf-8"))
_NO_FACTS = ("*__partial", "*__tfdefaults")
_INDEX = "index.json"


def main() -> None:
    """Write the files that CONFIGS has, then the index of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("configs", type=Path)
    parser.add_argument("--as-of", required=True, help="when the configs were taken, as a date")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    sources = _sources(arguments.configs / "SOURCES.md")
    for file in sorted(arguments.configs.glob("*.json")):
        if models := _models(file.stem):
            entry = {
                "models": models,
                "source": sources[file.name],
                "as_of": arguments.as_of,
                "config": _config(file),
            }
            if filled := _filled(file.stem, entry["config"]):
                entry["filled"] = filled
            name = models[0].replace("/", "--").lower() + ".json"
            (arguments.out / name).write_text(_text(entry), "utf-8")
    (arguments.out / _INDEX).write_text(_index(arguments.out), "utf-8")


def _models(stem: str) -> list[str]:
    """Hub ids of a file, none if it is no fact about a model."""
    if any(fnmatch.fnmatchcase(stem, pattern) for pattern in _NO_FACTS):
        return []
    named: list[str] | None = _NAMES["names"].get(stem)
    if named is not None:
        return named
    if stem in _NAMES["excluded"] or stem.endswith("__maxtext"):
        return []
    return [stem.replace("--", "/", 1)]


def _sources(table: Path) -> dict[str, str]:
    """By file: where it is from, with what the table notes of it."""
    sources: dict[str, str] = {}
    for line in table.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 3 and cells[0].endswith(".json") and cells[0] not in sources:
            file, source, note = cells
            sources[file] = f"{source} ({note.rstrip(' |')})" if note.strip(" |") else source
    return sources


def _config(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(file.read_text("utf-8"))
    own = {key: value for key, value in config.items() if not key.startswith("_")}
    completed: dict[str, Any] = _NAMES["completed"].get(file.stem, {})
    return own | completed


def _filled(stem: str, config: dict[str, Any]) -> dict[str, Any]:
    """What the config lacks of the fields that the engine needs, not about the KV cache."""
    filled: dict[str, Any] = {}
    for fill in _FILLS:
        if fnmatch.fnmatchcase(stem, fill["names"]):
            filled |= _missing(config, fill["fields"])
    return filled


def _missing(config: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    missing: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in config:
            missing[name] = value
        elif (
            isinstance(value, dict)
            and isinstance(config[name], dict)
            and (inner := _missing(config[name], value))
        ):
            missing[name] = inner
    return missing


def _text(entry: dict[str, Any]) -> str:
    """A line for each part, and for each field of the config."""
    parts = []
    for key, value in entry.items():
        if key == "config":
            fields = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f' "config": {{\n{fields}\n }}')
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _index(folder: Path) -> str:
    """Hub ids in small letters, with the id as written and the file."""
    index: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*.json")):
        if file.name == _INDEX:
            continue
        for model in json.loads(file.read_text("utf-8"))["models"]:
            if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
                raise SystemExit(f"{file.name}: `{model}` is no hub id")
            if model.lower() in index:
                raise SystemExit(f"{model} is in {file.name} and {index[model.lower()][1]}")
            index[model.lower()] = [model, file.name]
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(index[key])}" for key in sorted(index))
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    main()
