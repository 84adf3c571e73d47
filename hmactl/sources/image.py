"""What the name of a container image says: versions, and what it starts by itself."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hmactl.sources.process.word import Word

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|a|b|dev)\d+)?)(?:[-+].*)?")
_VLLM = frozenset({"vllm/vllm-openai", "vllm/vllm-openai-cpu", "rocm/vllm"})
_LMCACHE = frozenset({"lmcache/vllm-openai", "lmcache/lmcache_vllm", "lmcache/standalone"})
_SERVES = re.compile(r"(^|[/-])vllm-openai($|[/-])")
_OF_A_SERVER = ("--model", "--served-model-name", "--tensor-parallel-size", "--kv-transfer-config")


def versions(image: str) -> tuple[str | None, str | None]:
    """The vLLM and the LMCache version that a tag of their projects' own images names.

    Other people's images are tagged by other rules: of those nothing is known, and neither of
    ``latest``, of nightly builds or of digests.
    """
    name, tag = split_image(image)
    match = _VERSION.fullmatch(tag or "")
    if match is None:
        return None, None
    repository = "/".join(name.split("/")[-2:])
    if repository in _VLLM:
        return match[1], None
    return (None, match[1]) if repository in _LMCACHE else (None, None)


def split_image(image: str) -> tuple[str, str | None]:
    """Repository and tag of an image name; the digest, if any, is dropped."""
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (name, None)


def serves_by_itself(image: str) -> bool:
    """Whether the image's own entrypoint is ``vllm serve``, so that a container gives arguments.

    That is so for vllm/vllm-openai and lmcache/vllm-openai and for images named after them.
    """
    return _SERVES.search(split_image(image)[0]) is not None


def container_argv(
    image: Word | None, entrypoint: Sequence[Word] | None, arguments: Sequence[Word]
) -> tuple[Word, ...]:
    """The command that a container runs, as far as it can be told.

    ``entrypoint`` None leaves the image's own. Of images that are not known to serve, it is taken
    for ``vllm serve`` where the arguments can only be for that; otherwise the arguments stand for
    themselves. The words that the image adds have the image's place.
    """
    if entrypoint is not None:
        return (*entrypoint, *arguments)
    options = {word.text.partition("=")[0].replace("_", "-") for word in arguments}
    known = image is not None and image.known and serves_by_itself(image.text)
    bare = bool(arguments) and arguments[0].text.startswith("-")
    if known or (bare and options.intersection(_OF_A_SERVER)):
        where = image if image is not None else arguments[0]
        serve = (replace(where, text=text, known=True, places=None) for text in ("vllm", "serve"))
        return (*serve, *arguments)
    return tuple(arguments)
