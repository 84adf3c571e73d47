"""Which of the releases that were read answer for a version."""

from collections.abc import Sequence

from packaging.version import InvalidVersion

from hmactl.catalogue.version import parsed


def neighbours(version: str, known: Sequence[str]) -> tuple[str, ...]:
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
