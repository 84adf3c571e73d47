"""The rows of versions.py as a page: per model, releases that answer alike share a line."""

from collections.abc import Callable, Iterable
from typing import Any

Row = dict[str, Any]

_HEAD = """# What changes from one vLLM release to the next

One dry boot of hmactl per line: vLLM's own parser, configuration, model classes and engine core,
on a virtual H100 (80 GB) with {memory} of KV cache memory and the engine's defaults otherwise.
Releases that answer alike share a line. Made by

    python tools/versions.py --venvs DIR --versions {cpu} {cuda}--jsonl docs/versions.jsonl \\
        --markdown docs/versions.md

which also keeps all figures in `versions.jsonl`. The CPU builds of vLLM were asked beside PyTorch
{torch}, with stand-ins for the compiled extensions that are absent or do not load.

- **tokens** is what that release prints. Up to 0.20.0 it prints `blocks // groups * block size`,
  later `concurrency * max_model_len`: a jump there is a change of the printed figure, not of the
  capacity. Compare **concurrency**.
- **default HMA** is what the engine decides if no flag is given and there is no connector.
- **groups** with Mamba layers of 262,144 tokens keep one state per request; of the attention's
  block size, one per block, which is what prefix caching needs.
- **attention** and **weights** hang on which kernels a build has, and a CPU build lacks some of a
  CUDA build's. The two weights of gpt-oss are two choices of MXFP4 kernel: Triton's, which takes
  the experts as they are and lays them out after loading, and Marlin's, which pads them. Users'
  servers logged 13.70 to 13.72 GiB with Marlin (RTX 3090, RTX 5090, A100), and a public table has
  13.47 GiB for an H100; how much a layout adds after loading is not counted here.
- `llama-4-like` and `jamba-like` are small models of that shape (`tools/versions_models.json`).

Releases asked: {asked}.
"""

_BESIDES = """# Drafts, replicas and the plain CPU platform on older releases

Tried on 0.12.0, 0.17.1, 0.22.1 and 0.27.1 (`tests/engine/test_older_releases.py`):

- EAGLE, EAGLE-3 and MTP drafts add their layers to the plan on all of them, n-gram adds none. A
  draft model is refused by 0.12.0 in its own words, and planned from 0.17.1 on.
- With data parallelism the plan is that of one replica, with and without tensor or expert
  parallelism beside it.
- 0.12.0 accepts a plan for less than one request of `max-model-len` where HMA is off, because it
  holds the layers against the memory before it makes them one kind. MEM002 says so.
- On the plain CPU platform (`target.gpu: cpu`) the operators of the installed build are vLLM's own
  or none: a build made for another PyTorch does not load them, and then neither a server nor a dry
  boot gets beyond a model that needs one. What vLLM says of it is a fault of that installation.
"""


def markdown(rows: list[Row], *, memory: str = "40 GiB", torch: str = "2.13.0") -> str:
    """The whole page. ``rows`` are in the order of releases."""
    versions = list(dict.fromkeys(row["version"] for row in rows))
    cuda = [v for v in versions if any(r["distribution"] == "vllm" for r in rows if _is(r, v))]
    cpu = [v for v in versions if v not in cuda]
    named = [f"{v} (CUDA build, without a driver)" if v in cuda else v for v in versions]
    parts = [
        _HEAD.format(
            memory=memory,
            torch=torch,
            cpu=",".join(cpu) or "''",
            cuda=f"--cuda {','.join(cuda)} " if cuda else "",
            asked=", ".join(named),
        )
    ]
    for model in dict.fromkeys(row["model"] for row in rows):
        of_model = [row for row in rows if row["model"] == model]
        plain = [row for row in of_model if row["connector"] is None]
        parts += [f"## {model}", _table(_PLAN, plain, versions)]
    parts.append("# Connectors")
    for connector in dict.fromkeys(r["connector"] for r in rows if r["connector"]):
        connected = [row for row in rows if row["connector"] == connector]
        parts.append(f"## {connector}")
        parts.append(_table(_CONNECTOR, _by_version(connected), versions))
    parts.append(_BESIDES)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _is(row: Row, version: str) -> bool:
    return bool(row["version"] == version)


Column = tuple[str, Callable[[Row], str]]


def _table(columns: Iterable[Column], rows: list[Row], versions: list[str]) -> str:
    columns = list(columns)
    lines: list[tuple[list[str], list[str]]] = []
    for row in rows:
        cells = [cell(row) for _, cell in columns]
        last = lines[-1] if lines else None
        adjoins = last and versions.index(row["version"]) == versions.index(last[0][-1]) + 1
        if last and adjoins and last[1] == cells:
            last[0].append(row["version"])
        else:
            lines.append(([row["version"]], cells))
    head = ["vLLM", *(name for name, _ in columns)]
    body = [[_span(span), *cells] for span, cells in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def _span(versions: list[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _groups(row: Row) -> str:
    plan = row.get("hma_on") or {}
    kinds: dict[tuple[str, int], list[str]] = {}
    for layers, spec, block_size in plan.get("groups", ()):
        kinds.setdefault((spec.removesuffix("Spec"), block_size), []).append(str(layers))
    return ", ".join(f"{'+'.join(n)} {spec} of {size:,}" for (spec, size), n in kinds.items())


def _side(name: str, figure: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        if row["error"]:
            return f"error: {row['error']}" if (name, figure) == ("hma_on", "blocks") else ""
        plan = row[name]
        if plan.get("error"):
            return f"refused: {plan['error']}" if figure == "blocks" else ""
        value = plan[figure]
        if value is None:
            return "not told"
        return f"{value:.2f}x" if figure == "concurrency" else f"{value:,}"

    return cell


def _hma(row: Row, name: str) -> str:
    state = row.get("hma", {}).get(name)
    if isinstance(state, str):
        return f"refused: {state}"
    return {True: "on", False: "off", None: "not told"}[state]


def _explicit_on(row: Row) -> str:
    state = row.get("hma", {}).get("explicit_on")
    if state is False:
        return "stays off"
    if state is True and row.get("supports_hma") is False:
        return "accepted at first; the connector is then refused"
    return _hma(row, "explicit_on")


def _caching(row: Row) -> str:
    caching = "on" if row.get("prefix_caching") else "off"
    mode = row.get("mamba_cache_mode")
    return caching if mode in (None, "none") else f"{caching}, Mamba {mode}"


def _weights(row: Row) -> str:
    return ", ".join(f"{weights / 2**30:.2f}" for weights in row.get("weights", ()))


_PLAN: tuple[Column, ...] = (
    ("default HMA", lambda row: _hma(row, "default")),
    ("groups with HMA on", _groups),
    ("blocks", _side("hma_on", "blocks")),
    ("tokens", _side("hma_on", "tokens")),
    ("concurrency", _side("hma_on", "concurrency")),
    ("HMA off: blocks", _side("hma_off", "blocks")),
    ("tokens", _side("hma_off", "tokens")),
    ("concurrency", _side("hma_off", "concurrency")),
    ("block size", lambda row: str(row.get("block_size", ""))),
    ("prefix caching", _caching),
    ("attention", lambda row: ", ".join(row.get("attention_backends", ()))),
    ("weights GiB", _weights),
)


def _by_version(rows: list[Row]) -> list[Row]:
    """One row per release: what the models have in common, and which differ."""
    merged: dict[str, Row] = {}
    for row in rows:
        kept = merged.setdefault(row["version"], row | {"states": {}})
        state = f"{_hma(row, 'default')}; {_explicit_on(row)}"
        kept["states"].setdefault(state, []).append(row["model"])
    return list(merged.values())


def _states(part: int) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        found: dict[str, list[str]] = {}
        for state, models in row["states"].items():
            found.setdefault(state.split("; ", 1)[part], []).extend(models)
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{state} ({', '.join(models)})" for state, models in found.items())

    return cell


def _support(row: Row) -> str:
    if row.get("connector_error"):
        return f"does not load: {row['connector_error']}"
    return {True: "yes", False: "no", None: "not told"}[row.get("supports_hma")]


_CONNECTOR: tuple[Column, ...] = (
    ("supports HMA", _support),
    ("default HMA", _states(0)),
    ("HMA explicitly on", _states(1)),
)
