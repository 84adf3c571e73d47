"""What vLLM's own command line parser makes of the deployment's flags."""

import difflib
import importlib
from typing import Any

from .evidence import words


class ArgumentsRefusedError(Exception):
    """vLLM's parser refuses the command line, in its own words."""


def serve_parser() -> tuple[Any, Any]:
    """The parser of ``vllm`` with ``serve`` as its only command, and the one of ``serve``."""
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    class Parser(FlexibleArgumentParser):
        def error(self, message: str) -> Any:
            raise ArgumentsRefusedError(message)

    parser = Parser(prog="vllm")
    serve = parser.add_subparsers(dest="subparser").add_parser("serve")
    _make_arg_parser()(serve)
    return parser, serve


# Where `vllm serve` has kept its options, newest first.
_HOMES = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)


def _make_arg_parser() -> Any:
    for home in _HOMES:
        try:
            module = importlib.import_module(home)
        except ModuleNotFoundError as error:
            if not home.startswith(str(error.name)):
                raise
            continue
        if hasattr(module, "make_arg_parser"):
            return module.make_arg_parser
    raise ImportError("this vLLM keeps the options of `vllm serve` where hmactl cannot find them")


def problems(
    parser: Any, serve: Any, model: str, flags: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Each flag that vLLM would refuse, judged by itself so that all are seen at once.

    A flag is ``{"name": dashed long name, "arguments": [...]}``; a problem is
    ``{"index": position in flags, "kind": "unknown" | "value", "message": str, "similar": [...]}``.
    """
    known = [option[2:] for option in serve._option_string_actions if option.startswith("--")]
    found = []
    for index, flag in enumerate(flags):
        option = flag["arguments"][0].split("=")[0][2:]
        base = option.split(".")[0]
        if base not in known:
            found.append(
                {
                    "index": index,
                    "kind": "unknown" if flag["name"] not in known else "not-boolean",
                    "message": f"--{option}",
                    "similar": difflib.get_close_matches(base, known, n=3, cutoff=0.7),
                }
            )
            continue
        try:
            parser.parse_args(["serve", model, *flag["arguments"]])
        except Exception as error:  # noqa: BLE001 - a parser of the engine may raise anything
            found.append({"index": index, "kind": "value", "message": words(error), "similar": []})
    return found
