"""A file that a call closes is not called for any more, nor its number's next owner."""

import os
from contextlib import closing

from hmactl.launch.supervise.loop import READ, Loop


def test_a_file_that_an_earlier_call_closed() -> None:
    with closing(Loop()) as loop:
        pipes = [os.pipe(), os.pipe()]
        called: list[int] = []
        for reading, writing in pipes:
            os.write(writing, b"x")

            def close_both(mine: int = reading) -> None:
                called.append(mine)
                for one, _writing in pipes:
                    loop.unwatch(one)
                    os.close(one)
                # The numbers are taken again, by files that nobody has written to.
                for _ in pipes:
                    new, other = os.pipe()
                    loop.watch(new, READ, lambda: called.append(-1))
                    opened.extend((new, other))

            loop.watch(reading, READ, close_both)
        opened = [writing for _reading, writing in pipes]
        loop.turn()
        assert len(called) == 1
        loop.later(0.05, lambda: None)
        loop.turn()
        assert len(called) == 1
        for file in opened:
            os.close(file)


def test_timers_come_in_order_and_not_when_cancelled() -> None:
    with closing(Loop()) as loop:
        called: list[str] = []
        loop.later(0.03, lambda: called.append("second"))
        loop.later(0.01, lambda: called.append("first"))
        loop.later(0.02, lambda: called.append("never")).cancel()
        while len(called) < 2:
            loop.turn()
        assert called == ["first", "second"]
