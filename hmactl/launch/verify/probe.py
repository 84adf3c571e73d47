"""Prove on the running server that what was stored outside the GPU comes back, and is right."""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from hmactl.launch.verify.completion import Completion, complete, difference
from hmactl.launch.verify.found import Found
from hmactl.launch.verify.metrics import Metrics
from hmactl.launch.verify.probe_size import CannotProbeError, Sizes, probe_sizes
from hmactl.launch.verify.result import Comparison, State
from hmactl.launch.verify.server import NoAnswerError, Server
from hmactl.launch.verify.tier import Stored, Tier

_EXTERNAL = ("vllm:external_prefix_cache_hits_total", "vllm:external_prefix_cache_hits")
_LOCAL = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits")
_PROMPT = ("vllm:prompt_tokens_total", "vllm:prompt_tokens")
_BUSY = ("vllm:num_requests_running", "vllm:num_requests_waiting")
_TEXT = "The quick brown fox jumps over the lazy dog; 0123456789. Pack my box with five dozen jugs!"
_ROUNDS = 3
_SETTLE = 1.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens since the server started."""

    external: float
    local: float
    prompt: float


@dataclass(frozen=True, slots=True)
class Round:
    """Prompts once more, after the GPU has forgotten them: what came from where."""

    answers: tuple[Completion, ...]
    external: int
    local: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """``tokens`` bounds the prompt tokens, ``seconds`` the time of all requests together."""

    tokens: int
    seconds: float


class Probe:
    """``chunk`` is how many tokens the connector stores at a time; None: not known.

    ``no_hits`` says why nothing can come from outside the GPU: then the long prompt is only
    answered, which is all where that is ``planned``. ``tier`` is asked for what is stored in it.
    ``tell`` hears what is being done. Raises CannotProbeError where a probe would prove nothing.
    """

    def __init__(
        self,
        server: Server,
        found: Found,
        chunk: int | None,
        bounds: Bounds,
        *,
        no_hits: str | None = None,
        planned: bool = False,
        tier: Tier | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        if found.smallest is None or not found.models:
            raise CannotProbeError("the server names no model or no KV cache")
        if len(found.caches) > 1:
            # What another engine holds on its GPU says nothing: all requests go to one of them.
            rank = {"X-data-parallel-rank": found.smallest.engine}
            server = replace(server, headers={**server.headers, **rank})
        self._server, self._found, self._tell, self._tier = server, found, tell, tier
        self._model, self._no_hits, self._planned = found.models[0], no_hits, planned
        self._bounds, self._deadline = bounds, time.monotonic() + bounds.seconds
        self._refuse_where_busy()
        self._resets = self._reset()
        self._sizes: Sizes = probe_sizes(
            found.smallest,
            found.max_model_len,
            chunk,
            bounds.tokens,
            resets=self._resets or no_hits is not None,
        )
        self._random = random.Random()  # noqa: S311 - prompts that nobody sent before
        self._ids = self._token_ids()
        self._start, self._sent = self._count(), 0

    def run(self) -> Iterator[Comparison]:
        """What came back. Raises CannotProbeError where that cannot be known."""
        try:
            yield from self._run()
        except NoAnswerError as error:
            if error.status in {401, 403, 404}:
                raise
            yield _compared(
                "answers",
                "long prompts answered",
                ("yes", str(error)),
                good=False,
                source="/v1/completions",
                meaning="a server that answers /health may still die of its first long prompt",
            )

    def _run(self) -> Iterator[Comparison]:
        sizes = self._sizes
        long = self._prompt(sizes.long)
        several = [self._prompt(sizes.each) for _ in range(sizes.at_once)]
        self._tell(f"warming up, then a prompt of {sizes.long:,} tokens")
        self._complete(self._prompt(sizes.long))
        stored = None if self._tier is None else self._tier.stored()
        cold = self._complete(long)
        settled = self._counts()
        shorter = [*long[: sizes.shared], *self._prompt(sizes.long // 8)]
        self._complete(shorter)
        shared = self._counts()
        yield _compared(
            "answers",
            "long prompts answered",
            ("yes", "yes"),
            good=True,
            source="/v1/completions",
        )
        if self._no_hits is not None:
            if not self._planned:
                raise CannotProbeError(self._no_hits)
            return
        colds = self._at_once(several)
        alone = list(self._rounds([long], (cold,), ""))
        yield from alone
        yield _told(
            "shared-prefix",
            "shorter prompt, same prefix",
            f"{int(shared.local - settled.local):,} of {sizes.shared:,} shared tokens on the GPU",
        )
        # Of what caches nothing, several prompts at once show nothing more.
        if several and alone[0].state is State.SAME:
            yield from self._rounds(several, colds, "-at-once")
        yield from self._stored(stored)
        if len(self._found.caches) > 1:
            engine = self._server.headers["X-data-parallel-rank"]
            what = f"engine {engine} of {len(self._found.caches)}"
            yield _told("probed-engine", "probed engine", what)

    def _rounds(
        self, prompts: Sequence[Sequence[int]], colds: Sequence[Completion], suffix: str
    ) -> Iterator[Comparison]:
        """The prompts again, while less comes back than must: connectors take time to store."""
        sizes = self._sizes
        expect = sizes.expected_at_once if suffix else sizes.expected
        best: Round | None = None
        for _ in range(_ROUNDS):
            this = self._round(prompts)
            if best is None or this.external > best.external:
                best = this
            next_one = sizes.push + sum(map(len, prompts))
            if this.external >= expect(this.local) or self._sent + next_one > self._bounds.tokens:
                break
        assert best is not None  # noqa: S101 - for the type checker
        at_once = f", {len(prompts)} at once" if suffix else ""
        yield self._hits(best, expect(best.local), suffix, at_once)
        differences = [difference(a, b) for a, b in zip(colds, best.answers, strict=True)]
        found = next((one for one in differences if one is not None), None)
        yield _compared(
            f"same-answer{suffix}",
            f"answer{at_once or ' from the cache'}",
            ("the same", found or "the same"),
            good=found is None,
            source="/v1/completions",
            meaning="what comes back is not what was stored",
        )
        before, after = (max(one.first_token for one in those) for those in (colds, best.answers))
        yield _told(
            f"first-token{suffix}",
            f"time to first token{at_once}",
            f"{'last one ' if suffix else ''}cold {before:.2f} s, warm {after:.2f} s",
        )

    def _round(self, prompts: Sequence[Sequence[int]]) -> Round:
        # Connectors store while the next requests run.
        time.sleep(_SETTLE)
        self._forget()
        before = self._counts()
        answers = self._at_once(prompts)
        after = self._counts()
        return Round(
            answers, int(after.external - before.external), int(after.local - before.local)
        )

    def _stored(self, before: Stored | None) -> Iterator[Comparison]:
        """What the tier has more than before the first prompt."""
        after = None if self._tier is None else self._tier.stored()
        if self._tier is None or before is None or after is None:
            return
        size, objects = after.bytes - before.bytes, after.objects - before.objects
        found = f"{size / 2**20:,.1f} MiB, {objects:,} objects" if size > 0 else "nothing more"
        yield _told("stored", "stored outside the GPU", found, self._tier.name)

    def _refuse_where_busy(self) -> None:
        metrics = Metrics(self._server.text("/metrics"))
        running = sum(metrics.total(name) or 0 for name in _BUSY)
        if running:
            raise CannotProbeError(
                f"{running:.0f} requests are running or waiting: a probe would slow them down, and "
                "its hits could not be told from theirs; probe it before it gets traffic"
            )

    def _hits(self, best: Round, expected: int, suffix: str, at_once: str) -> Comparison:
        if expected == 0:
            raise CannotProbeError(
                "the GPU's cache still had the whole prompt: nothing had to come from outside"
            )
        chunk = self._sizes.chunk
        planned = "more than 0 tokens"
        if chunk is not None:
            planned = f"{expected:,} tokens, {math.ceil(expected / chunk)} chunks"
        nothing = "nothing that was stored outside the GPU comes back: the connector caches nothing"
        return _compared(
            f"external-hits{suffix}",
            f"external hits{at_once}",
            (planned, f"{best.external:,} tokens"),
            good=best.external >= expected,
            source=_EXTERNAL[0],
            meaning=nothing if best.external == 0 else "only a part comes back",
        )

    def _forget(self) -> None:
        """Make the GPU forget the long prompt."""
        if self._resets:
            self._tell("emptying the GPU's cache")
            if self._reset():
                return
            raise CannotProbeError("/reset_prefix_cache does not empty the GPU's cache")
        self._tell(f"pushing it out of the GPU's cache with {self._sizes.push:,} other tokens")
        left = self._sizes.push
        while left > 0:
            self._complete(self._prompt(self._sizes.push_length))
            left -= self._sizes.push_length

    def _reset(self) -> bool:
        """Whether the GPU's cache is empty now; blocks of a request that is not done keep it."""
        for _ in range(5):
            try:
                answer = self._server.post("/reset_prefix_cache")
            except NoAnswerError:
                return False
            if b"false" not in answer.lower():
                return True
            time.sleep(_SETTLE)
        return False

    def _prompt(self, length: int) -> list[int]:
        return self._random.choices(self._ids, k=length)

    def _token_ids(self) -> list[int]:
        """Ids of plain text, none of which stands for an image or ends a prompt."""
        body = {"model": self._model, "prompt": _TEXT, "add_special_tokens": False}
        answer = self._server.json("/tokenize", body)
        found = answer.get("tokens") if isinstance(answer, dict) else None
        ids = sorted({one for one in found or () if isinstance(one, int)})
        if len(ids) < 8:
            raise CannotProbeError("/tokenize does not answer as vLLM does")
        return ids

    def _complete(self, prompt: Sequence[int]) -> Completion:
        (answer,) = self._at_once([prompt])
        return answer

    def _at_once(self, prompts: Sequence[Sequence[int]]) -> tuple[Completion, ...]:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise NoAnswerError(
                f"the requests took more than the {self._bounds.seconds:g} s of --probe-timeout"
            )

        def send(prompt: Sequence[int]) -> Completion:
            return complete(self._server, self._model, prompt, left)

        with ThreadPoolExecutor(max(1, len(prompts))) as pool:
            answers = tuple(pool.map(send, prompts))
        self._sent += sum(map(len, prompts))
        return answers

    def _counts(self) -> Counts:
        """The counts once every request of the probe is in them, and no other one."""
        now = self._count()
        for _ in range(20):
            if now.prompt >= self._start.prompt + self._sent:
                break
            time.sleep(0.1)
            now = self._count()
        counted = now.prompt - self._start.prompt
        if counted != self._sent:
            raise CannotProbeError(
                f"/metrics counts {counted:,.0f} prompt tokens where the probe sent "
                f"{self._sent:,}: others use the server, and hits cannot be told apart"
            )
        return now

    def _count(self) -> Counts:
        metrics = Metrics(self._server.text("/metrics"))
        external, local, prompt = (metrics.total(*n) for n in (_EXTERNAL, _LOCAL, _PROMPT))
        if external is None or local is None or prompt is None:
            raise CannotProbeError("/metrics does not count external hits, local hits or tokens")
        return Counts(external, local, prompt)


def _compared(
    id_: str,
    what: str,
    texts: tuple[str, str],
    *,
    good: bool,
    source: str,
    meaning: str | None = None,
) -> Comparison:
    """``texts`` are what was planned and what was found, ``meaning`` is of a difference."""
    return Comparison(
        id=id_,
        what=what,
        planned=texts[0],
        found=texts[1],
        state=State.SAME if good else State.DIFFERS,
        source=source,
        meaning=None if good else meaning,
    )


def _told(id_: str, what: str, found: str, source: str | None = None) -> Comparison:
    return Comparison(
        id=id_, what=what, planned=None, found=found, state=State.UNKNOWN, source=source
    )
