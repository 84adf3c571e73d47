"""What of the plan differs between vLLM's releases, as data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hmactl.catalogue.data_file import load
from hmactl.catalogue.estimate.question import UnknownError


@dataclass(frozen=True, slots=True)
class Release:
    """A release that the estimator was held to, and what is its own.

    ``forms`` has what was checked, each with the generations of GPUs on which it was.
    ``batches_in_flight``: how many batches a window's blocks wait for. ``group_padding``: up to how
    many times the fewest layers of a kind the most may be, for groups as large as the most.
    ``mamba_prefix_caching``: on by itself.
    ``reserves_a_block``: of the memory that one request has to fit into. ``tokens_of_a_group``:
    the tokens that it prints are those that one group's blocks hold. ``checkpoints``: by form and
    generation of the GPU, of how many tokens a block is a multiple where layers keep one more
    state for prefix caching; 0: they do not, None: that depends on the kernels there are.
    ``fp8_by_itself``: architectures with an fp8 KV cache unless told otherwise, with the
    generations on which that is so. ``mla_block_sizes``: by generation. ``prefix_block_size``: on
    Blackwell, where the tokens of an image see each other. ``layers_keep_block_size``: beside
    states attention gets larger blocks only in its group. ``batched_tokens``: GiB of a GPU's
    memory, and how many tokens vLLM batches by itself from there on, largest first.
    """

    versions: tuple[str, ...]
    forms: Mapping[str, Sequence[int]]
    batches_in_flight: int
    cannot_unify: str
    group_padding: float
    mamba_prefix_caching: bool
    reserves_a_block: bool
    tokens_of_a_group: bool
    checkpoints: Mapping[str, Mapping[str, int | None]]
    fp8_by_itself: Mapping[str, Sequence[int]]
    mla_block_sizes: Mapping[str, int]
    prefix_block_size: int
    batched_tokens: Sequence[tuple[int, int]]
    layers_keep_block_size: bool

    def check(self, forms: Iterable[str], generation: int) -> None:
        """Raises UnknownError where the release was not checked for one of these there."""
        for form in sorted(forms):
            if generation not in self.forms.get(form, ()):
                words = form.replace("_", " ")
                raise UnknownError(f"not checked against vLLM {self.versions[0]}: {words}")

    def checkpoint_alignment(self, form: str, generation: int) -> int:
        """0: no state is kept besides. Raises UnknownError."""
        if form not in self.checkpoints:
            return 0
        alignment = self.checkpoints[form].get(str(generation))
        if alignment is None:
            raise UnknownError("the kernels decide how many states these layers keep")
        return alignment


def releases(version: str | None) -> list[Release]:
    """The release, or all that were checked. Raises UnknownError."""
    if version is None:
        return list(_releases())
    for release in _releases():
        if version.partition("+")[0] in release.versions:
            return [release]
    raise UnknownError(f"the estimator was not checked against vLLM {version}")


def checked_versions() -> tuple[str, ...]:
    """The releases that the estimator answers for, oldest first."""
    return tuple(version for release in _releases() for version in release.versions)


@cache
def _releases() -> tuple[Release, ...]:
    data = load("estimator-releases.json")
    return tuple(
        Release(**entry | {"versions": tuple(entry["versions"])}) for entry in data["releases"]
    )
