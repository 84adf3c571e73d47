"""Dry-boot every model config in a folder, and say what came out.

    python tools/sweep_models.py CONFIGS [--gpu NAME] [--names GLOB,...] [--fill FILE.json]
        [--out FILE.jsonl] [--markdown FILE.md]

CONFIGS holds one config.json per model, named MODEL.json; keys that begin with "_" are notes.
Each model gets 40 GiB of KV cache memory and tensor parallel 1, or the smallest size that the
engine accepts. No code that comes with a model is run. Exit status 0, whatever the engine said.

Collections of configs are often excerpts. A --fill file says what they lack: a list of
{"names": GLOB, "fields": {...}, "why": TEXT}. Fields that a config has are left alone, and a
completed config is marked with a star.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hmactl.catalogue.gpus import Gpu, find_gpu
from hmactl.engine.answer import Answer, LayerKind, Plan
from hmactl.engine.ask import Question, Session
from hmactl.engine.child import DryBootFailedError, Limits
from hmactl.engine.find import find_engine

_MEMORY = 40 << 30
_TENSOR_PARALLEL = (1, 2, 4, 8)
_FULL, _OTHER, _ANY = "full", "other", "of any kind"


class _Memory:
    def __init__(self, answer: Answer) -> None:
        self.bytes_per_rank = tuple(_MEMORY for _ in answer.weights)


def main() -> None:
    arguments = _arguments()
    fills = json.loads(arguments.fill.read_text("utf-8")) if arguments.fill else []
    files = [f for f in sorted(arguments.configs.glob("*.json")) if _wanted(f, arguments.names)]
    engine = find_engine(arguments.python)
    rows = []
    with contextlib.ExitStack() as stack:
        out = None
        if arguments.out:
            out = stack.enter_context(arguments.out.open("w", encoding="utf-8"))
        session = stack.enter_context(Session(engine, Limits(seconds=arguments.seconds)))
        for file in files:
            row = _sweep(file, fills, session, find_gpu(arguments.gpu))
            rows.append(row)
            print(_line(row), flush=True)
            if out:
                print(json.dumps(row), file=out, flush=True)
    print(_totals(rows))
    if arguments.markdown:
        vllm = "vLLM" if engine.vllm is None else f"vLLM {engine.vllm.version}"
        title = f"{vllm}, virtual {arguments.gpu}"
        text = "\n".join(_markdown(rows, title)) + "\n"
        arguments.markdown.write_text(text, "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("configs", type=Path)
    parser.add_argument("--gpu", default="H100-80GB")
    parser.add_argument("--names", default="*", help="globs of model names, with commas between")
    parser.add_argument("--fill", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--python", help="the interpreter that has the engine")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for one model")
    return parser.parse_args()


def _wanted(file: Path, names: str) -> bool:
    return any(fnmatch.fnmatchcase(file.stem, name) for name in names.split(","))


def _sweep(
    file: Path, fills: list[dict[str, Any]], session: Session, gpu: Gpu | None
) -> dict[str, Any]:
    began = time.monotonic()
    row: dict[str, Any] = {"model": file.stem, "filled": []}
    with tempfile.TemporaryDirectory(prefix="hmactl-sweep-") as directory:
        try:
            config = _without_notes(json.loads(file.read_text("utf-8")))
            for fill in fills:
                if fnmatch.fnmatchcase(file.stem, fill["names"]):
                    row["filled"] += _fill(config, fill["fields"])
            Path(directory, "config.json").write_text(json.dumps(config), "utf-8")
            for size in _TENSOR_PARALLEL:
                answer = _ask(session, Path(directory), size, gpu)
                row |= {"tensor_parallel": size} | _outcome(answer, config)
                if row["status"] != "refused" or not _about_tensor_parallel(row["why"]):
                    break
        except DryBootFailedError as error:
            why = f"the dry boot {error} at stage {error.stage}"
            row |= {"status": "not possible", "why": why, "evidence": error.evidence[-8:]}
        except Exception as error:  # noqa: BLE001 - one broken model must not stop the sweep
            row |= {"status": "not possible", "why": f"{type(error).__name__}: {error}"}
        row["why"] = str(row.get("why", "")).replace(directory, "MODEL")
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


def _without_notes(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if not key.startswith("_")}


def _fill(config: dict[str, Any], fields: dict[str, Any], prefix: str = "") -> list[str]:
    """Add what is missing, also inside nested objects; returns the dotted names."""
    filled = []
    for name, value in fields.items():
        if name not in config:
            config[name] = value
            filled.append(prefix + name)
        elif isinstance(value, dict) and isinstance(config[name], dict):
            filled += _fill(config[name], value, f"{prefix}{name}.")
    return filled


def _ask(session: Session, directory: Path, tensor_parallel: int, gpu: Gpu | None) -> Answer:
    flags = (
        ("enforce-eager", ("--enforce-eager",)),
        ("trust-remote-code", ("--trust-remote-code",)),
        ("tensor-parallel-size", ("--tensor-parallel-size", str(tensor_parallel))),
    )
    question = Question(
        model=str(directory),
        model_directory=directory,
        flags=flags,
        extra=(),
        gpu=gpu,
        gpus=tensor_parallel,
        environment=os.environ,
        lmcache_keys=(),
        arguments_only=False,
    )
    return session.ask(question, on_stage=lambda _stage: None, size_memory=_Memory)


def _about_tensor_parallel(why: str) -> bool:
    return any(word in why.lower() for word in ("tensor parallel", "tensor_parallel", "tp_size"))


def _outcome(answer: Answer, config: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "architectures": [] if answer.config is None else answer.config.architectures,
        "missing": answer.missing,
        "warnings": [line.message for line in answer.warnings],
    }
    if answer.error is not None or answer.plan is None:
        stage = "" if answer.error is None else answer.error.stage
        status = "not possible" if stage == "dry-boot" else "refused"
        return row | {"status": status, "stage": stage, "why": _why(answer)}
    on, off = answer.plan.hma_on, answer.plan.hma_off
    kinds = [kind for stage in answer.layers for kind in stage]
    return row | {
        "status": "ok",
        "layers": [[kind.count, kind.spec, kind.page_size_bytes] for kind in kinds],
        "differs": _difference(config, kinds),
        "groups": [[g.layers, g.spec, g.block_size] for g in on.groups],
        "block_size": on.block_size,
        "on": _side(on),
        "off": _side(off),
        "weights_gib": round(answer.weights[0] / 2**30, 3),
        "backends": answer.attention_backends,
    }


def _why(answer: Answer) -> str:
    if answer.error is not None:
        return answer.error.message
    return "; ".join(problem.message for problem in answer.flag_problems) or "no plan"


def _side(plan: Plan) -> dict[str, Any]:
    words = None if plan.error is None else plan.error.message
    return {"tokens": plan.tokens, "blocks": plan.num_blocks, "error": words}


def _difference(config: dict[str, Any], kinds: Iterable[LayerKind]) -> str | None:
    """Where the engine's layers are not those that the config's own words imply."""
    text = config.get("text_config") or config.get("thinker_config", {}).get("text_config")
    expected = _expected(text or config)
    found: Counter[str] = Counter()
    for kind in kinds:
        # An indexer's cache is one more of each sparse layer; only its entries are so small.
        if kind.spec == "MLAAttentionSpec" and getattr(kind, "head_size", 512) < 256:
            continue
        full = kind.spec in {"FullAttentionSpec", "MLAAttentionSpec"}
        found[_FULL if full else _OTHER] += kind.count
    if not expected or expected == found or expected == Counter({_ANY: found.total()}):
        return None
    return f"config says {_counts(expected)}, engine has {_counts(found)}"


def _counts(counts: Counter[str]) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _expected(text: dict[str, Any]) -> Counter[str]:
    """How many layers keep everything, and how many a window or a state; empty: it does not say."""
    layers = text.get("num_hidden_layers")
    if not isinstance(layers, int) or "compress_ratios" in text or "block_configs" in text:
        return Counter()
    types = text.get("layer_types")
    pattern = text.get("hybrid_override_pattern")
    every = text.get("full_attention_interval") or text.get("sliding_window_pattern")
    if types:
        # Gemma's last layers can share the KV cache of earlier ones.
        own = layers - (text.get("num_kv_shared_layers") or 0)
        return Counter(_kind(kind) for kind in types[:own] if kind not in {"mlp", "moe"})
    if isinstance(pattern, str):
        return Counter(_FULL if kind == "*" else _OTHER for kind in pattern if kind in "M*")
    if "hybrid_layer_pattern" in text:
        return Counter(_OTHER if kind else _FULL for kind in text["hybrid_layer_pattern"])
    if "linear_attn_config" in text:
        full = len(text["linear_attn_config"]["full_attn_layers"])
        return Counter({_FULL: full, _OTHER: layers - full})
    if isinstance(every, int):
        return Counter(_OTHER if (n + 1) % every else _FULL for n in range(layers))
    return Counter({_ANY: layers})


def _kind(layer_type: str) -> str:
    full = layer_type in {"full_attention", "attention", "global"} or "sparse" in layer_type
    return _FULL if full else _OTHER


def _line(row: dict[str, Any]) -> str:
    mark = "*" if row["filled"] else ""
    size = row.get("tensor_parallel", 1)
    parallel = f" tp{size}" if size > 1 else ""
    head = f"{row['status']:12} {row['model']}{mark}{parallel} {row['seconds']}s"
    if row["status"] != "ok":
        return f"{head} [{row.get('stage', '')}] {_first_line(row['why'])}"
    parts = [
        _layers(row),
        f"block {row['block_size']}",
        f"groups {len(row['groups'])}",
        f"on {_tokens(row['on'])}",
        f"off {_tokens(row['off'])}",
        f"{row['weights_gib']} GiB",
        "+".join(row["backends"]),
        *([f"DIFFERS: {row['differs']}"] if row["differs"] else []),
        *row["missing"],
    ]
    return f"{head} {' | '.join(parts)}"


def _layers(row: dict[str, Any]) -> str:
    counts: Counter[str] = Counter()
    for count, spec, _page in row["layers"]:
        counts[spec.removesuffix("Spec")] += count
    return " + ".join(f"{count} {spec}" for spec, count in counts.items()) or "none"


def _tokens(side: dict[str, Any]) -> str:
    if side["error"] is None:
        return "-" if side["tokens"] is None else f"{side['tokens']:,}"
    return "one request does not fit" if "max seq len" in side["error"] else "refused"


def _first_line(text: str, limit: int = 240) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and "validation error" in lines[0] and len(lines) > 1:
        lines = lines[1:]
    line = (lines or [""])[0].removeprefix("Value error, ").partition(" [type=")[0]
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _totals(rows: list[dict[str, Any]]) -> str:
    counts = Counter(row["status"] for row in rows)
    filled = sum(bool(row["filled"]) for row in rows)
    figures = ", ".join(f"{counts[s]} {s}" for s in ("ok", "refused", "not possible"))
    return f"{len(rows)} models: {figures}; {filled} completed by the --fill file"


def _markdown(rows: list[dict[str, Any]], title: str) -> Iterator[str]:
    yield "# Architectures that were dry-booted"
    yield ""
    yield "Written by `tools/sweep_models.py` from configs that people published, and from class"
    yield "defaults of transformers (named after the class). A star: the config was an excerpt, and"
    yield "what it lacked came from `tools/sweep_fill.json`. `refused` under HMA off: the engine"
    yield "refuses to run the model without HMA."
    yield ""
    yield f"{title}, 40 GiB of KV cache memory, tensor parallel 1. {_totals(rows)}."
    yield ""
    yield "| architecture | models | KV cache layers | HMA off | attention |"
    yield "|---|---|---|---|---|"
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["status"] == "ok":
            off = "refused" if _tokens(row["off"]) == "refused" else "possible"
            kinds = sorted({spec.removesuffix("Spec") for _count, spec, _page in row["layers"]})
            cells = (row["architectures"][0], ", ".join(kinds), off, ", ".join(row["backends"]))
            alike.setdefault(cells, []).append(row)
    for (architecture, *rest), group in sorted(alike.items()):
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        yield f"| {' | '.join((architecture, _name(group[0]) + others, *rest))} |"
    yield ""
    yield "Not dry-booted, in the engine's words where it refused:"
    yield ""
    for row in rows:
        if row["status"] != "ok":
            yield f"- {_name(row)}: {row['status']}: {_first_line(row['why'], 160)}"


def _name(row: dict[str, Any]) -> str:
    name = row["model"].replace("--", "/", 1).partition("__")[0]
    return f"{name} \\*" if row["filled"] else name


if __name__ == "__main__":
    main()
