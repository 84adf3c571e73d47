"""Prove on the running server that what was stored outside the GPU comes back, and is right."""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hmactl.launch.verify.completion import Completion, complete, difference
from hmactl.launch.verify.found import Found
from hmactl.launch.verify.metrics import Metrics
from hmactl.launch.verify.probe_size import CannotProbeError, Sizes, probe_sizes
from hmactl.launch.verify.result import Comparison, State
from hmactl.launch.verify.server import NoAnswerError, Server

_EXTERNAL = ("vllm:external_prefix_cache_hits_total", "vllm:external_prefix_cache_hits")
_LOCAL = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits")
_PROMPT = ("vllm:prompt_tokens_total", "vllm:prompt_tokens")
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
    """The long prompt once more, after the GPU has forgotten it: what came from where."""

    answer: Completion
    external: int
    local: int


class Probe:
    """``budget`` bounds the prompt tokens, ``timeout`` the seconds of all requests together.

    ``chunk`` is how many tokens the connector stores at a time; None: not known. ``tell`` hears
    what is being done.
    """

    def __init__(
        self,
        server: Server,
        found: Found,
        chunk: int | None,
        *,
        budget: int,
        timeout: float,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        if found.smallest is None or not found.models:
            raise CannotProbeError("the server names no model or no KV cache")
        self._server, self._model, self._tell = server, found.models[0], tell
        self._deadline = time.monotonic() + timeout
        self._resets = self._reset()
        self._sizes: Sizes = probe_sizes(
            found.smallest, found.max_model_len, chunk, budget, resets=self._resets
        )
        self._random = random.Random()  # noqa: S311 - prompts that nobody sent before
        self._ids = self._token_ids()
        self._start, self._sent = self._count(), 0

    def run(self) -> tuple[Comparison, ...]:
        """What came back. Raises CannotProbeError where that cannot be known."""
        try:
            return tuple(self._run())
        except NoAnswerError as error:
            if error.status in {401, 403, 404}:
                raise
            return (
                Comparison(
                    id="answers",
                    what="long prompts are answered",
                    planned="yes",
                    found=str(error),
                    state=State.DIFFERS,
                    source="/v1/completions",
                    meaning="a server that answers /health may still die of its first long prompt",
                ),
            )

    def _run(self) -> Iterator[Comparison]:
        sizes = self._sizes
        long = self._prompt(sizes.long)
        self._tell(f"warming up, then a prompt of {sizes.long:,} tokens")
        self._complete(self._prompt(sizes.long))
        cold = self._complete(long)
        settled = self._counts()
        shorter = [*long[: sizes.shared], *self._prompt(sizes.long // 8)]
        self._complete(shorter)
        shared = self._counts()
        best: Round | None = None
        for _ in range(_ROUNDS):
            this = self._round(long)
            if best is None or this.external > best.external:
                best = this
            if this.external >= sizes.expected(this.local):
                break
        assert best is not None  # noqa: S101 - for the type checker
        yield self._hits(best)
        yield self._same(cold, best)
        yield _told(
            "first-token",
            "time to first token",
            f"cold {cold.first_token:.2f} s, warm {best.answer.first_token:.2f} s",
        )
        from_gpu = int(shared.local - settled.local)
        yield _told(
            "shared-prefix",
            "shorter prompt with the same prefix",
            f"{from_gpu:,} of {sizes.shared:,} shared tokens were still in the GPU's cache",
        )

    def _round(self, prompt: Sequence[int]) -> Round:
        # Connectors store while the next requests run.
        time.sleep(_SETTLE)
        self._forget()
        before = self._counts()
        answer = self._complete(prompt)
        after = self._counts()
        return Round(answer, int(after.external - before.external), int(after.local - before.local))

    def _hits(self, best: Round) -> Comparison:
        sizes = self._sizes
        expected = sizes.expected(best.local)
        if sizes.chunk is None:
            planned = "more than 0 tokens"
        else:
            planned = f"{expected:,} tokens, {math.ceil(expected / sizes.chunk)} chunks"
        if expected == 0:
            raise CannotProbeError(
                "the GPU's cache still had the whole prompt: nothing had to come from outside"
            )
        good = best.external >= expected
        meaning = None
        if not good:
            meaning = (
                "nothing that was stored outside the GPU comes back: the connector caches nothing"
                if best.external == 0
                else "only a part comes back"
            )
        return Comparison(
            id="external-hits",
            what="external hits",
            planned=planned,
            found=f"{best.external:,} tokens",
            state=State.SAME if good else State.DIFFERS,
            source=_EXTERNAL[0],
            meaning=meaning,
        )

    def _same(self, cold: Completion, best: Round) -> Comparison:
        found = difference(cold, best.answer)
        return Comparison(
            id="same-answer",
            what="answer from the cache",
            planned="the same",
            found=found or "the same",
            state=State.SAME if found is None else State.DIFFERS,
            source="/v1/completions",
            meaning=None if found is None else "what comes back is not what was stored",
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
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise NoAnswerError("the requests were not answered within the time of --timeout")
        answer = complete(self._server, self._model, prompt, left)
        self._sent += len(prompt)
        return answer

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


def _told(id_: str, what: str, found: str) -> Comparison:
    return Comparison(id=id_, what=what, planned=None, found=found, state=State.UNKNOWN)
