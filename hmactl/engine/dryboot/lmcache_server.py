"""What the installed ``lmcache server`` says to its arguments."""

import argparse
import contextlib
import io
from typing import Any, NoReturn

from .evidence import words


class _RefusedError(Exception):
    """argparse's own words."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _RefusedError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _RefusedError(message or f"exit status {status}")


def refusal(arguments: list[str]) -> str | None:
    """Why it would end at once; None where it would not, or where it cannot be asked here.

    Options that it does not know are left out: they are told by their names.
    """
    parser = _Parser(prog="lmcache server", add_help=False)
    readers = _readers(parser)
    if readers is None:
        return None
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            parsed, _unknown = parser.parse_known_args(arguments)
            for read in readers:
                read(parsed)
    except Exception as error:  # noqa: BLE001 - whatever LMCache raises is its answer
        return words(error)
    return None


def _readers(parser: argparse.ArgumentParser) -> list[Any] | None:
    """Give the parser its options; returns what makes configurations of what it parsed."""
    try:
        from lmcache.cli.commands.server import ServerCommand
        from lmcache.v1.distributed.config import parse_args_to_config
        from lmcache.v1.multiprocess.config import parse_args_to_mp_server_config
    except ImportError:
        return None
    ServerCommand().add_arguments(parser)
    # The options are only there where all that the server needs is installed.
    if not any("--l1-size-gb" in action.option_strings for action in parser._actions):
        return None
    return [parse_args_to_config, parse_args_to_mp_server_config]
