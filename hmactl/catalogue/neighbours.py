"""Which of the releases that were read answer for a version."""

from functools import lru_cache
from typing import Protocol, TypeVar

from packaging.version import InvalidVersion

from hmactl.catalogue.version import parsed


class _Release(Protocol):
    @property
    def version(self) -> str: ...


_R = TypeVar("_R", bound=_Release)


def answering(version: str | None, releases: tuple[_R, ...]) -> tuple[_R, ...]:
    """The releases that answer for that version, the oldest first.

    Those around it where it was not read itself, every release where it is None, and none where it
    is older or newer than all that were read, or no version.
    """
    if version is None:
        return releases
    around = neighbours(version, tuple(release.version for release in releases))
    return tuple(release for release in releases if release.version in around)


@lru_cache(maxsize=1024)
def neighbours(version: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """That release itself, or the nearest older and the nearest newer one of ``known``.

    None where it is older or newer than all of them, or no version. A patch release newer than all
    of them is answered by the last one. A local part (`+cu129`) tells a build, not a release.
    """
    try:
        wanted = parsed(parsed(version).public)
    except InvalidVersion:
        return ()
    older = [one for one in known if parsed(one) <= wanted]
    newer = [one for one in known if parsed(one) > wanted]
    if not older:
        return ()
    last = parsed(older[-1])
    if last == wanted:
        return (older[-1],)
    if not newer:
        return (older[-1],) if last.release[:2] == wanted.release[:2] else ()
    return older[-1], newer[0]
