"""What the supervisor makes of every end, of signals, and of what servers leave."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from supervised import free_ports, server, supervising

TERM, KILL = signal.SIGTERM, signal.SIGKILL


def _pids(trace: Path) -> list[int]:
    return [int(line.split()[1]) for line in trace.read_text().splitlines() if "start" in line]


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--exit", 0], 1, "ended by itself before it was healthy, with exit status 0"),
        (["--exit", 0, "--after", 1], 1, "although nobody had asked it to end"),
        (["--exit", 3], 3, "with exit status 3"),
        (["--exit", 1, "--after", 1], 1, "VLLM ended by itself, with exit status 1"),
        (["--kill", 9, "--after", 1], 137, "VLLM was ended by SIGKILL, which hmactl did not send"),
        (["--kill", 15, "--deaf"], None, ""),
        (["--kill", 11], 139, "by SIGSEGV before it was healthy"),
        (["--kill", 6, "--after", 1, "--workers", 3], 134, "by SIGABRT"),
        (["--kill", 40], 168, "by signal 40"),
    ],
)
def test_an_engine_that_ends_by_itself(
    tmp_path: Path, options: list[str | int], status: int | None, words: str
) -> None:
    (port,) = free_ports(1)
    with supervising(tmp_path, server("vllm", *options, port=port, stop_seconds=0.5)) as run:
        if status is None:  # a signal that it ignores ends nothing
            run.says("VLLM is healthy")
            run.send(TERM)
            assert run.status() == 137
            return
        assert run.status() == status
        assert words in run.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("ends_with", [0, 4])
def test_a_stop_that_was_asked_for_is_the_engines_own(
    tmp_path: Path, number: signal.Signals, ends_with: int
) -> None:
    (port,) = free_ports(1)
    engine = server("vllm", "--term-status", ends_with, "--workers", 2, port=port)
    with supervising(tmp_path, engine) as run:
        run.says("VLLM is healthy")
        run.send(number)
        assert run.status() == ends_with
        assert f"{number.name}: stopping" in run.stderr
        assert "killed" not in run.stderr.replace("must be killed", "")


def test_the_companion_is_healthy_before_the_engine_starts_and_stops_after_it(
    tmp_path: Path,
) -> None:
    trace, ports = tmp_path / "trace", free_ports(2)
    companion = server(
        *("lmcache", "--delay", 0.4, "--say", "a word", "--complain", "hm", "--trace", trace),
        port=ports[0],
        path="/other",
    )
    engine = server("vllm", "--say", "two\rthree\nfour", "--trace", trace, port=ports[1])
    with supervising(tmp_path, companion, engine) as run:
        run.says("VLLM is healthy")
        first, second = _pids(trace)
        run.send(TERM)
        assert run.status() == 0
        said = run.stderr
        order = ("started LMCACHE", "LMCACHE is healthy", "started VLLM", "VLLM is healthy")
        assert [said.index(words) for words in order] == sorted(map(said.index, order))
        assert run.stdout == "[lmcache] a word\n[vllm] two\n[vllm] three\n[vllm] four\n"
        assert "[lmcache] hm\n" in said
        assert f"process {first}" in said
        assert f"process {second}" in said
        assert trace.read_text().splitlines()[-2:] == ["term", "term"]


@pytest.mark.parametrize(
    ("options", "words", "started"),
    [
        (["--exit", 0], "LMCACHE ended by itself before it was healthy, with exit status 0", 1),
        (["--exit", 1, "--after", 0.7], "with exit status 1; without it the engine has no", 2),
        (["--kill", 9, "--after", 0.7], "LMCACHE was ended by SIGKILL", 2),
    ],
)
def test_a_companion_that_ends_takes_the_engine_with_it(
    tmp_path: Path, options: list[str | int], words: str, started: int
) -> None:
    trace, ports = tmp_path / "trace", free_ports(2)
    companion = server("lmcache", *options, "--trace", trace, port=ports[0])
    engine = server("vllm", "--workers", 2, "--trace", trace, port=ports[1])
    with supervising(tmp_path, companion, engine) as run:
        assert run.status() == 1
        assert words in run.stderr
        assert len(_pids(trace)) == started


def test_a_server_that_is_never_healthy(tmp_path: Path) -> None:
    ports = free_ports(3)
    companion = server("lmcache", port=ports[0])
    companion["port"] = ports[1]
    companion["start_seconds"] = 0.5
    engine = server("vllm", port=ports[2])
    with supervising(tmp_path, companion, engine) as run:
        assert run.status() == 1
        address = f"http://127.0.0.1:{ports[1]}/health"
        assert f"LMCACHE was not healthy within 0.5 s (asked at {address})" in run.stderr
        assert "started VLLM" not in run.stderr


def test_an_answer_that_is_not_200_is_not_healthy(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with supervising(tmp_path, server("vllm", port=port, path="/no", start_seconds=1)) as run:
        assert run.status() == 1
        assert "not healthy within 1 s" in run.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    engine = {"name": "vllm", "argv": ["/nowhere/vllm"]}
    with supervising(tmp_path, server("lmcache", port=port), engine) as run:
        assert run.status() == 2
        assert "VLLM cannot be started: /nowhere/vllm: No such file or directory" in run.stderr


def test_who_ignores_sigterm_is_killed_with_all_its_processes(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    engine = server(
        *("vllm", "--deaf", "--deaf-workers", "--workers", 2, "--strangers", 2, "--daemons", 2),
        port=port,
        stop_seconds=0.7,
    )
    with supervising(tmp_path, engine) as run:
        run.says("VLLM is healthy")
        began = time.monotonic()
        run.send(TERM)
        assert run.status() == 137
        assert 0.7 <= time.monotonic() - began < 5
        assert "VLLM has not ended in time and is killed" in run.stderr


def test_before_it_was_healthy_it_gets_less_time(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    engine = server("vllm", "--deaf", "--delay", 60, "--say", "up", port=port, stop_seconds=60)
    with supervising(tmp_path, engine) as run:
        run.wait_for(lambda: "up" in run.stdout)
        began = time.monotonic()
        run.send(TERM)
        assert run.status() == 137
        assert 4.5 < time.monotonic() - began < 15


@pytest.mark.parametrize("deaf", [False, True])
def test_workers_whose_server_was_killed_are_ended(tmp_path: Path, deaf: bool) -> None:
    """SIGKILL of the API server, whose workers would hold the GPU."""
    trace, (port,) = tmp_path / "trace", free_ports(1)
    options = ["--workers", 2, "--strangers", 1, "--trace", trace]
    with supervising(
        tmp_path, server("vllm", *options, *["--deaf-workers"] * deaf, port=port)
    ) as run:
        run.says("VLLM is healthy")
        (pid,) = _pids(trace)
        os.kill(pid, KILL)
        assert run.status() == 137
        assert "VLLM was ended by SIGKILL" in run.stderr
        assert ("has left processes" in run.stderr) is deaf


def test_a_second_signal_shortens_the_grace_and_an_echo_does_not(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with supervising(tmp_path, server("vllm", "--deaf", port=port, stop_seconds=60)) as run:
        run.says("VLLM is healthy")
        run.send(signal.SIGINT)
        run.says("SIGINT: stopping")
        run.send(signal.SIGINT)
        time.sleep(1.2)
        assert "without further delay" not in run.stderr
        began = time.monotonic()
        run.send(TERM)
        assert run.status() == 137
        assert "SIGTERM: stopping without further delay" in run.stderr
        assert time.monotonic() - began < 10


def test_a_stop_while_the_companion_starts(tmp_path: Path) -> None:
    ports = free_ports(2)
    companion = server("lmcache", "--delay", 60, "--say", "up", port=ports[0])
    with supervising(tmp_path, companion, server("vllm", port=ports[1])) as run:
        run.wait_for(lambda: "up" in run.stdout)
        run.send(TERM)
        assert run.status() == 128 + TERM
        assert "started VLLM" not in run.stderr


def test_other_signals_are_the_engines(tmp_path: Path) -> None:
    trace, (port,) = tmp_path / "trace", free_ports(1)
    with supervising(tmp_path, server("vllm", "--trace", trace, port=port)) as run:
        run.says("VLLM is healthy")
        run.send(signal.SIGUSR1)
        run.wait_for(lambda: "usr1" in trace.read_text())
        run.send(TERM)
        assert run.status() == 0


def test_nothing_is_ignored_or_blocked_in_a_server(tmp_path: Path) -> None:
    """A shell that starts a job in the background leaves SIGINT ignored."""
    (port,) = free_ports(1)
    signals = "signal.SIGTERM, signal.SIGUSR2"
    prefix = [
        *(sys.executable, "-c"),
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"signal.pthread_sigmask(signal.SIG_BLOCK, [{signals}]); "
        "os.execv(sys.argv[1], sys.argv[1:])",
    ]
    with supervising(tmp_path, server("vllm", "--signals", port=port), prefix=prefix) as run:
        run.says("VLLM is healthy")
        assert run.stdout == "SIGINT ignored False, blocked []\n"
        run.send(TERM)
        assert run.status() == 0


def test_a_server_does_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    trace, ports = tmp_path / "trace", free_ports(2)
    companion = server("lmcache", "--trace", trace, port=ports[0])
    with supervising(tmp_path, companion, server("vllm", "--trace", trace, port=ports[1])) as run:
        run.says("VLLM is healthy")
        run.send(KILL)
        run.wait_for(lambda: trace.read_text().count("term") == 2)


def test_zombies_are_reaped(tmp_path: Path) -> None:
    """Those whose parent is gone, too, which an init would do."""
    trace, (port,) = tmp_path / "trace", free_ports(1)
    engine = server("vllm", "--zombies", 5, "--daemons", 3, "--trace", trace, port=port)
    with supervising(tmp_path, engine) as run:
        run.says("VLLM is healthy")
        adopted = _children(run.process.pid)
        assert len(adopted) == 4  # the server, and three daemons
        (pid,) = _pids(trace)
        for daemon in adopted - {pid}:
            os.kill(daemon, KILL)
        run.wait_for(lambda: _children(run.process.pid) == {pid})
        run.send(TERM)
        assert run.status() == 0


def _children(pid: int) -> set[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return set(map(int, text.split()))


def test_processes_that_were_there_before_are_left_alone(tmp_path: Path) -> None:
    """An entrypoint may start something of its own and then become hmactl."""
    (port,) = free_ports(1)
    prefix = ["sh", "-c", 'sleep 600 & echo $! >&2; exec "$@"', "sh"]
    with supervising(tmp_path, server("vllm", "--workers", 1, port=port), prefix=prefix) as run:
        run.says("VLLM is healthy")
        sleeper = int(run.stderr.split()[0])
        run.send(TERM)
        assert run.process.wait(20) == 0
        os.kill(sleeper, 0)
        os.kill(sleeper, KILL)


def test_process_1_of_a_container(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel gives no namespaces to this user")
    trace = tmp_path / "trace"
    options = ["--workers", 2, "--daemons", 2, "--zombies", 2, "--trace", trace]
    with supervising(
        tmp_path,
        server("vllm", *options, "--term-status", 7, port=port),
        prefix=[*unshare, "--kill-child"],
    ) as run:
        run.says("VLLM is healthy")
        run.wait_for(lambda: len(_children(run.process.pid)) == 1)
        (first,) = _children(run.process.pid)
        assert Path(f"/proc/{first}/status").read_text().split("NSpid:")[1].split()[1] == "1"
        os.kill(first, TERM)
        assert run.status() == 7


def test_what_lmcache_leaves_in_shared_memory_is_removed_and_nothing_else(tmp_path: Path) -> None:
    ports = free_ports(2)
    pool, other = f"test-{os.getpid()}", Path(f"/dev/shm/lmcache_kv_{os.getpid()}_0")
    companion = server("lmcache", "--shm", "/dev/shm", port=ports[0])
    engine = server("vllm", "--shm", "/dev/shm", "--touch", "socket", port=ports[1])
    try:
        with supervising(tmp_path, companion, engine, pool=f"/{pool}") as run:
            run.says("VLLM is healthy")
            other.touch()
            Path(f"/dev/shm/lmcache_l1_pool_{pool}").touch()
            run.send(TERM)
            other_is_left = run.process.wait(20) == 0 and other.exists()
            other.unlink()
            assert other_is_left
            assert run.status() == 0
            assert f"lmcache_l1_pool_{pool}" in run.stderr
            assert run.stderr.count("lmcache_kv_") == 2
    finally:
        other.unlink(missing_ok=True)


def test_without_anything_that_can_be_written_to(tmp_path: Path) -> None:
    """A container with a read-only root file system and no home."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    script = (
        "mount -o remount,ro,bind / && ! touch /tmp/hmactl-test 2>/dev/null && "
        'cd / && unset HOME TMPDIR && exec "$@"'
    )
    if subprocess.run(
        [*unshare, script, "sh", "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this user cannot make a file system read-only")
    (port,) = free_ports(1)
    engine = server("vllm", "--say", "up", port=port)
    with supervising(tmp_path, engine, prefix=[*unshare, script, "sh"]) as run:
        run.says("VLLM is healthy")
        run.send(TERM)
        assert run.status() == 0


def test_without_a_proc_its_group_is_killed(tmp_path: Path) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    script = 'mount -t tmpfs none /proc && exec "$@"'
    if subprocess.run(
        [*unshare, script, "sh", "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this user cannot mount anything")
    (port,) = free_ports(1)
    engine = server("vllm", "--deaf", "--workers", 2, port=port, stop_seconds=0.3)
    with supervising(tmp_path, engine, prefix=[*unshare, script, "sh"]) as run:
        run.says("VLLM is healthy")
        run.send(TERM)
        assert run.status() == 137


def test_output_comes_whole_and_unchanged_from_one_server(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    options = ["--say", "\x1b[1mbar 1\rbar 2", "--flood", 3_000_000, "--long-line", 100_000]
    with supervising(tmp_path, server("vllm", *options, port=port)) as run:
        run.says("VLLM is healthy")
        run.send(TERM)
        assert run.status() == 0
        lines = run.stdout.split("\n")
        assert lines[:2] == ["\x1b[1mbar 1\rbar 2", "x" * 100_000]
        assert len(lines) == 30_003
        assert lines[-2] == f"{29_999:099}"


def test_a_long_line_of_one_of_two_comes_in_pieces(tmp_path: Path) -> None:
    ports = free_ports(2)
    companion = server("lmcache", "--long-line", 40_000, port=ports[0])
    with supervising(tmp_path, companion, server("vllm", port=ports[1])) as run:
        run.says("VLLM is healthy")
        run.send(TERM)
        assert run.status() == 0
        lines = run.stdout.splitlines()
        assert "".join(line.removeprefix("[lmcache] ") for line in lines) == "x" * 40_000
        assert max(map(len, lines)) < 17_000


def test_a_server_does_not_end_because_nobody_reads_its_output(tmp_path: Path) -> None:
    trace, (port,) = tmp_path / "trace", free_ports(1)
    reading, writing = os.pipe()
    engine = server("vllm", "--flood", 2_000_000, "--trace", trace, port=port)
    with supervising(tmp_path, engine, stdout=writing) as run:
        os.close(writing)
        assert os.read(reading, 100)
        os.close(reading)
        run.says("VLLM is healthy")
        assert "flooded" in trace.read_text()
        run.send(TERM)
        assert run.status() == 0
