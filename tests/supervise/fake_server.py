"""A small program that behaves like a server of an engine, well or badly.

Standard library only and started with -I -S, so that a test can start many of them.
"""

import argparse
import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType

_ANSWER = b"HTTP/1.0 200 OK\r\n\r\n"


def main() -> None:
    """What the options say, then serve until something ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="healthy on this port")
    parser.add_argument("--healthy-path", default="/health")
    parser.add_argument("--delay", type=float, default=0, help="seconds until it is healthy")
    parser.add_argument("--exit", type=int, help="end by itself with this status")
    parser.add_argument("--kill", type=int, help="end by itself by this signal")
    parser.add_argument("--after", type=float, default=0, help="seconds until it does")
    parser.add_argument("--term-status", type=int, default=0, help="status after SIGTERM")
    parser.add_argument("--deaf", action="store_true", help="ignore SIGTERM")
    parser.add_argument("--deaf-workers", action="store_true")
    parser.add_argument("--workers", type=int, default=0, help="children in its session")
    parser.add_argument(
        "--strangers", type=int, default=0, help="children in sessions of their own"
    )
    parser.add_argument("--daemons", type=int, default=0, help="likewise, and orphaned at once")
    parser.add_argument("--zombies", type=int, default=0, help="children that nobody waits for")
    parser.add_argument("--say", action="append", default=[], help="a line for stdout")
    parser.add_argument("--complain", action="append", default=[], help="a line for stderr")
    parser.add_argument("--flood", type=int, default=0, help="bytes for stdout, in lines of 100")
    parser.add_argument("--long-line", type=int, default=0, help="a line of so many bytes")
    parser.add_argument("--shm", help="a file in this directory, named as LMCache would")
    parser.add_argument("--touch", help="a file in VLLM_RPC_BASE_PATH")
    parser.add_argument("--trace", help="a file that gets a line for each thing that happens")
    parser.add_argument("--signals", action="store_true", help="print which are ignored or blocked")
    options = parser.parse_args()
    _ready_signals(options)
    _start_others(options)
    _on_term(options)
    _trace(options, f"start {os.getpid()}")
    _talk(options)
    _leave_files(options)
    _serve(options, time.monotonic())


def _trace(options: argparse.Namespace, what: str) -> None:
    if options.trace:
        with Path(options.trace).open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")


def _ready_signals(options: argparse.Namespace) -> None:
    if options.signals:
        ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        sys.stdout.write(f"SIGINT ignored {ignored}, blocked {blocked}\n")

    def usr1(_number: int, _frame: FrameType | None) -> None:
        _trace(options, "usr1")

    signal.signal(signal.SIGUSR1, usr1)


def _start_others(options: argparse.Namespace) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.deaf_workers else signal.SIG_DFL)
    for _ in range(options.workers):
        _sleeper()
    for _ in range(options.strangers):
        _sleeper(session=True)
    for _ in range(options.daemons):
        _sleeper(session=True, orphan=True)
    for _ in range(options.zombies):
        if os.fork() == 0:
            os._exit(0)


def _on_term(options: argparse.Namespace) -> None:
    def term(_number: int, _frame: FrameType | None) -> None:
        _trace(options, "term")
        os._exit(options.term_status)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.deaf else term)


def _talk(options: argparse.Namespace) -> None:
    # A reader that is gone is no end of a server.
    with contextlib.suppress(BrokenPipeError):
        for line in options.say:
            sys.stdout.write(f"{line}\n")
        if options.long_line:
            sys.stdout.write("x" * options.long_line + "\n")
        for number in range(options.flood // 100):
            sys.stdout.write(f"{number:099}\n")
        sys.stdout.flush()
        for line in options.complain:
            sys.stderr.write(f"{line}\n")
    if options.flood:
        _trace(options, "flooded")


def _leave_files(options: argparse.Namespace) -> None:
    if options.shm:
        Path(options.shm, f"lmcache_kv_{os.getpid()}_{os.environ['OF_TEST']}").touch()
    if options.touch:
        Path(os.environ["VLLM_RPC_BASE_PATH"], options.touch).touch()


def _serve(options: argparse.Namespace, began: float) -> None:
    listener = socket.socket()
    if options.port:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if options.delay:
            time.sleep(options.delay)
        listener.bind(("127.0.0.1", options.port))
        listener.listen()
    listener.settimeout(0.05)
    while True:
        if time.monotonic() - began >= options.after:
            if options.exit is not None:
                os._exit(options.exit)
            if options.kill is not None:
                os.kill(os.getpid(), options.kill)
        if not options.port:
            time.sleep(0.02)
            continue
        try:
            connection, _address = listener.accept()
        except TimeoutError:
            continue
        request = connection.recv(1000).split()
        if len(request) > 1 and request[1].decode() == options.healthy_path:
            connection.sendall(_ANSWER)
        else:
            connection.sendall(b"HTTP/1.0 404 Not Found\r\n\r\n")
        connection.close()


def _sleeper(*, session: bool = False, orphan: bool = False) -> None:
    if (pid := os.fork()) != 0:
        if orphan:
            os.waitpid(pid, 0)
        return
    if orphan and os.fork() != 0:
        os._exit(0)
    if session:
        os.setsid()
    while True:
        time.sleep(600)


main()
