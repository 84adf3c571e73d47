"""Run by an interpreter with vLLM: the options of its own ``vllm serve`` parser as JSON.

Reads the directory of hmactl's dry boot from the first argument and writes to the file named by the
second; the third is the virtual GPU.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any


def _takes(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "nothing"
    return "several" if action.nargs in {"*", "+"} else "one"


def _sets(parser: Any, action: argparse.Action, written: str) -> Any:
    namespace = argparse.Namespace()
    action(parser, namespace, [], written)
    return getattr(namespace, action.dest, None)


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    # A CUDA build makes its parser only where it finds a GPU.
    gpu = importlib.import_module("dryboot.virtual_gpu")
    gpu.install(gpu.Gpu(**json.loads(sys.argv[3])))
    _parser, serve = importlib.import_module("dryboot.arguments").serve_parser()
    spellings: dict[argparse.Action, list[str]] = {}
    for spelling, action in serve._option_string_actions.items():
        spellings.setdefault(action, []).append(spelling)
    options = {}
    for action, written in spellings.items():
        long = [o for o in written if o.startswith("--")]
        if not long or "--help" in long:
            continue
        # A switch says what it sets when it is called.
        off = [o for o in written if action.nargs == 0 and _sets(serve, action, o) is False]
        positive = [o for o in long if o not in off] or long
        facts: dict[str, Any] = {"takes": _takes(action)}
        if aliases := sorted({o for o in written if o != positive[0]}):
            facts["aliases"] = aliases
        if negative := sorted(o for o in off if not o.startswith("--no-") and o in aliases):
            facts["negative"] = negative
        if action.choices:
            facts["choices"] = sorted(str(choice) for choice in action.choices)
        options[positive[0][2:]] = facts
    answer = {"version": importlib.import_module("vllm").__version__, "options": options}
    Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main()
