"""Hold the estimator to an engine: the same questions to both, and every difference.

    python tools/estimator.py ask CONFIGS --answers FILE.jsonl [--fill FILE.json] [--python PYTHON]
        [--on GPU[,OPTION=VALUE...]]... [--names GLOB,...]
    python tools/estimator.py compare CONFIGS FILE.jsonl... [--fill FILE.json]
        [--markdown docs/estimator.md]

For maintainers. CONFIGS is a folder of config.json files, named MODEL.json, or `catalogue`: the
models that ship with hmactl. `ask` dry-boots each with 40 GiB of KV cache memory, on each --on, and
appends the engine's answers to FILE.jsonl; what it has already is not asked again. `compare` gives
exit status 1 if an estimate is neither equal nor unknown. No code that comes with a model is run.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hmactl.catalogue.estimate import Estimate, Question, estimate
from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.models import find_model, known_models
from hmactl.engine.answer import Answer
from hmactl.engine.ask import Question as EngineQuestion
from hmactl.engine.ask import Session
from hmactl.engine.child import DryBootFailedError, Limits
from hmactl.engine.find import find_engine

MEMORY = 40 << 30
CATALOGUE = "catalogue"
TOO_LONG, CANNOT_UNIFY = "one request does not fit", "cannot be unified"
EVERYWHERE = (
    "H100-80GB",
    "H100-80GB,tensor-parallel-size=2",
    "H100-80GB,tensor-parallel-size=4",
    "H100-80GB,tensor-parallel-size=8",
    "A100-80GB",
    "L4",
    "B200",
)
_LONGEST = re.compile(r"estimated maximum model length is (\d+)")
# vLLM's options that the estimator reads, as it names them.
_FIELDS = {
    name: name.replace("-", "_")
    for name in (
        *("block-size", "decode-context-parallel-size", "kv-cache-dtype", "max-model-len"),
        *("max-num-batched-tokens", "max-num-seqs", "num-gpu-blocks-override"),
        *("pipeline-parallel-size", "tensor-parallel-size", "mamba-ssm-cache-dtype"),
    )
}
_SWITCHES = {
    "no-async-scheduling": ("async_scheduling", False),
    "no-enable-prefix-caching": ("prefix_caching", False),
}

Row = dict[str, Any]


class _Memory:
    def __init__(self, answer: Answer) -> None:
        self.bytes_per_rank = tuple(MEMORY for _ in answer.weights)


def main() -> None:
    """One of the two."""
    arguments = _arguments()
    fills = json.loads(arguments.fill.read_text("utf-8")) if arguments.fill else []
    configs = dict(_configs(arguments.configs, fills))
    if arguments.command == "ask":
        _ask_all(configs, arguments)
        return
    rows = [json.loads(line) for file in arguments.answers for line in _lines(file)]
    for row in rows:
        row["architecture"] = (configs[row["model"]].get("architectures") or [""])[0]
    compared = [(row, *compare(row, configs[row["model"]])) for row in rows]
    for row, outcome, detail in compared:
        if outcome in {"different", "refused"}:
            print(f"{outcome}: {row['model']} {row['gpu']} {row['settings']}: {detail}")
    print(dict(Counter(outcome for _row, outcome, _detail in compared)))
    if arguments.markdown:
        text = "\n".join(_markdown(compared)) + "\n"
        arguments.markdown.write_text(text, "utf-8")
    sys.exit(any(outcome == "different" for _row, outcome, _detail in compared))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("ask")
    ask.add_argument("configs")
    ask.add_argument("--answers", type=Path, required=True)
    ask.add_argument("--fill", type=Path)
    ask.add_argument("--python")
    ask.add_argument("--on", action="append", help="a GPU, then vLLM's options")
    ask.add_argument("--names", default="*", help="globs of model names, with commas between")
    of = commands.add_parser("compare")
    of.add_argument("configs")
    of.add_argument("answers", type=Path, nargs="+")
    of.add_argument("--fill", type=Path)
    of.add_argument("--markdown", type=Path)
    return parser.parse_args()


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else []


def _configs(where: str, fills: Sequence[Row]) -> Iterator[tuple[str, dict[str, Any]]]:
    if where == CATALOGUE:
        for model in known_models():
            if (facts := find_model(model)) is not None:
                yield model, facts.config
        return
    for file in sorted(Path(where).glob("*.json")):
        config = json.loads(file.read_text("utf-8"))
        own = {key: value for key, value in config.items() if not key.startswith("_")}
        for fill in fills:
            if fnmatch.fnmatchcase(file.stem, fill["names"]):
                _complete(own, fill["fields"])
        yield file.stem, own


def _complete(config: dict[str, Any], fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if name not in config:
            config[name] = value
        elif isinstance(value, dict) and isinstance(config[name], dict):
            _complete(config[name], value)


def _ask_all(configs: dict[str, dict[str, Any]], arguments: argparse.Namespace) -> None:
    engine = find_engine(arguments.python)
    if engine.vllm is None:
        raise SystemExit(f"no vLLM is installed for {engine.python}")
    known = {_key(json.loads(line)) for line in _lines(arguments.answers)}
    wanted = arguments.names.split(",")
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(Session(engine, Limits(seconds=120.0)))
        out = stack.enter_context(arguments.answers.open("a", encoding="utf-8"))
        for place in arguments.on or EVERYWHERE:
            gpu, *options = place.split(",")
            settings = {name: value for name, _, value in (o.partition("=") for o in options)}
            for model, config in configs.items():
                row: Row = {"model": model, "vllm": engine.vllm.version, "gpu": gpu}
                row["settings"] = settings
                named = any(fnmatch.fnmatchcase(model, name) for name in wanted)
                if named and _key(row) not in known:
                    row |= ask(session, config, gpu, settings)
                    print(json.dumps(row), file=out, flush=True)


def _key(row: Row) -> str:
    return json.dumps([row["model"], row["vllm"], row["gpu"], row["settings"]])


def ask(session: Session, config: dict[str, Any], gpu: str, settings: dict[str, str]) -> Row:
    """The engine's answer in short: ``layers``, ``on`` and ``off``, or why it ``refused``."""
    flags: list[tuple[str, tuple[str, ...]]] = [
        ("enforce-eager", ("--enforce-eager",)),
        ("trust-remote-code", ("--trust-remote-code",)),
    ]
    for name, value in settings.items():
        flags.append((name, (f"--{name}", value) if value else (f"--{name}",)))
    with tempfile.TemporaryDirectory(prefix="hmactl-estimator-") as directory:
        Path(directory, "config.json").write_text(json.dumps(config), "utf-8")
        question = EngineQuestion(
            model=directory,
            model_directory=Path(directory),
            flags=tuple(flags),
            extra=(),
            gpu=find_gpu(gpu),
            gpus=8,
            environment=os.environ,
            lmcache_keys=(),
            arguments_only=False,
        )
        try:
            answer = session.ask(question, on_stage=lambda _stage: None, size_memory=_Memory)
        except DryBootFailedError as error:
            return {"refused": f"the dry boot {error}"}
        return _short(asdict(answer), directory)


def _short(answer: dict[str, Any], directory: str) -> Row:
    if answer["error"] is not None or answer["plan"] is None:
        words = (answer["error"] or {}).get("message", "no plan")
        return {"refused": " ".join(words.replace(directory, "MODEL").split())[:160]}
    return {
        "layers": layer_kinds(answer["layers"]),
        "on": plan(answer["plan"]["hma_on"]),
        "off": plan(answer["plan"]["hma_off"]),
    }


def layer_kinds(stages: Sequence[Sequence[dict[str, Any]]]) -> list[list[list[Any]]]:
    """Of each pipeline stage: how many layers there are of each spec."""
    names = ("count", "spec", "block_size", "page_size_bytes")
    return [sorted([kind[name] for name in names] for kind in stage) for stage in stages]


def plan(made: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a plan. The bytes of one request in MB.

    The dry boot learns them from a quotient, so that their last digits are not the engine's.
    """
    names = ("layers", "spec", "block_size", "page_size_bytes")
    groups = [[group[name] for name in names] for group in made.get("groups", ())]
    request = made.get("bytes_per_request")
    megabytes = None if request is None else round(request / 1e6)
    if made.get("error") is not None:
        words = made["error"]["message"]
        if words.startswith("To serve at least one request"):
            longest = _LONGEST.search(words)
            return {
                "error": TOO_LONG,
                "groups": groups,
                "request": megabytes,
                "longest": int(longest[1]) if longest else None,
            }
        return {"error": CANNOT_UNIFY if "unified type" in words else words[:160]}
    whole = ("num_blocks", "tokens", "max_concurrency", "block_size", "max_model_len")
    return {"groups": groups, "request": megabytes} | {name: made[name] for name in whole}


def estimated(row: Row, config: dict[str, Any]) -> Estimate:
    """The estimator's answer to the question of a row."""
    given: dict[str, Any] = {}
    for name, value in row["settings"].items():
        if name in _SWITCHES:
            field, switch = _SWITCHES[name]
            given[field] = switch
        else:
            given[_FIELDS[name]] = int(value) if value.isdigit() else value
    return estimate(
        Question(config=config, vllm=row["vllm"], gpu=find_gpu(row["gpu"]), memory=MEMORY, **given)
    )


def compare(row: Row, config: dict[str, Any]) -> tuple[str, str]:
    """equal, unknown, different or refused (by the engine, for no reason of the KV cache)."""
    found = estimated(row, config)
    if found.unknown is not None:
        return "unknown", found.unknown
    if "refused" in row:
        return "refused", row["refused"]
    mine = {
        "layers": layer_kinds(found.layers),
        "on": plan(found.hma_on or {}),
        "off": plan(found.hma_off or {}),
    }
    for part, value in mine.items():
        if value != row[part]:
            return "different", f"{part}: the engine has {row[part]}, the estimator {value}"
    return "equal", ""


def _markdown(compared: Sequence[tuple[Row, str, str]]) -> Iterator[str]:
    yield "# What the estimator covers"
    yield ""
    yield "Written by `tools/estimator.py`. The estimator derives KV cache specs, groups, blocks"
    yield "and tokens from a config.json, without an engine. Here each of its answers was held to a"
    yield "dry boot of that vLLM: layers and their pages, groups, block sizes, blocks, tokens,"
    yield "concurrency and the size of one request, with HMA on and off, for 40 GiB of KV cache"
    yield "memory."
    yield ""
    yield "- **equal**: all of that is the engine's. **unknown**: the estimator says that it does"
    yield "  not know, and why. **different**: there must be none."
    yield "- **refused**: the engine did not start with this config, for a reason that has nothing"
    yield "  to do with the KV cache (how a checkpoint is quantised, heads of a vision tower). The"
    yield "  estimator answers for the KV cache all the same."
    yield "- Real configs are those that somebody published of a model; excerpts and defaults of"
    yield "  classes are not among them."
    yield ""
    yield "A config.json is all that it reads: what a checkpoint says in other files (an"
    yield "`hf_quant_config.json`, the weights) it does not see."
    yield ""
    real = [one for one in compared if _is_real(one[0]["model"])]
    yield from _table("vLLM, GPU and options", real, _place)
    yield "By architecture, all of the above:"
    yield ""
    yield from _table("architecture", real, lambda row: str(row.get("architecture", "")))
    yield "Why it does not know:"
    yield ""
    reasons = Counter(detail for _row, outcome, detail in real if outcome == "unknown")
    for reason, count in reasons.most_common():
        yield f"- {reason}: {count}"


def _is_real(model: str) -> bool:
    return not model.endswith(("__partial", "__tfdefaults"))


def _place(row: Row) -> str:
    options = [f"--{name} {value}".strip() for name, value in row["settings"].items()]
    return " ".join([f"{row['vllm']}, {row['gpu']}", *options])


def _table(
    title: str, compared: Sequence[tuple[Row, str, str]], of: Callable[[Row], str]
) -> Iterator[str]:
    outcomes = ("equal", "unknown", "different", "refused")
    counts: dict[str, Counter[str]] = {}
    for row, outcome, _detail in compared:
        if outcome == "unknown" and "refused" in row:
            continue
        counts.setdefault(of(row), Counter())[outcome] += 1
    yield f"| {title} | {' | '.join(outcomes)} | answered |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in sorted(counts):
        count = counts[name]
        asked = count["equal"] + count["different"] + count["unknown"]
        share = f"{count['equal'] / asked:.0%}" if asked else ""
        cells = " | ".join(str(count[outcome]) for outcome in outcomes)
        yield f"| {name} | {cells} | {share} |"
    yield ""


if __name__ == "__main__":
    main()
