"""The words by which failures are known stand in the sources of the releases that they are of.

Read are the vLLM and LMCache beside this interpreter, further vLLMs where HMACTL_TEST_PYTHONS names
their interpreters, and further LMCaches where HMACTL_TEST_LMCACHES names their directories.
"""

import ast
import importlib.util
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.version import Version

from hmactl.catalogue.failures import Sign, failures
from hmactl.engine.find import Engine

pytestmark = pytest.mark.engine

SIGNS = [
    pytest.param(sign, id=f"{failure.id}-{n}")
    for failure in failures()
    for n, sign in enumerate(failure.signs)
    if sign.file.endswith(".py")
]
_OTHER_PYTHONS = filter(None, os.environ.get("HMACTL_TEST_PYTHONS", "").split(":"))
_OTHER_LMCACHES = filter(None, os.environ.get("HMACTL_TEST_LMCACHES", "").split(":"))


@cache
def _roots() -> dict[str, list[tuple[Version | None, Path]]]:
    """Directories that hold each package, with the release that it is."""
    roots: dict[str, list[tuple[Version | None, Path]]] = {}
    for package in {sign.package for failure in failures() for sign in failure.signs}:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            continue
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin).resolve()
        inside = origin.parent if origin.name == "__init__.py" else origin
        up = len(package.split(".")) - 1
        root = inside.parents[up]
        roots[package] = [(_version_of(package), root)]
    for python in _OTHER_PYTHONS:
        for root in (Path(python).parent.parent / "lib").glob("python*/site-packages"):
            found = _installed(root, "vllm")
            if found is not None:
                roots.setdefault("vllm", []).append((found, root))
    for directory in _OTHER_LMCACHES:
        found = _installed(Path(directory), "lmcache")
        if found is not None:
            roots.setdefault("lmcache", []).append((found, Path(directory)))
    return roots


def _version_of(package: str) -> Version | None:
    for name in (package, f"{package}-cpu"):
        try:
            return Version(version(name))
        except PackageNotFoundError:
            continue
    return None


def _installed(root: Path, package: str) -> Version | None:
    for info in [*root.glob(f"{package}-*.dist-info"), *root.glob(f"{package}_cpu-*.dist-info")]:
        return Version(info.name.removesuffix(".dist-info").split("-")[1])
    return None


@cache
def _literals(path: Path) -> str:
    """All texts of a module, a line each; what is filled in is a NUL."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values
            ]
            texts.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return "\n".join(texts)


def _is_of(sign: Sign, release: Version | None) -> bool:
    if release is None:
        return not sign.since and not sign.until
    base = Version(release.base_version)
    return (not sign.since or base >= Version(sign.since)) and (
        not sign.until or base <= Version(sign.until)
    )


@pytest.mark.parametrize("sign", SIGNS)
def test_words_stand_in_the_source(engine: Engine, sign: Sign) -> None:
    assert engine.has_vllm
    read = 0
    for release, root in _roots().get(sign.package, ()):
        if not _is_of(sign, release):
            continue
        text = _literals(root / sign.file)
        # argparse and asyncio fill their words in; they say them in parts.
        for words in (sign.words, sign.also):
            assert all(part in text for part in _parts(sign, words)), (release, sign.file, words)
        read += 1
    if not read:
        pytest.skip(f"no {sign.package} of these releases is here")


def test_words_of_vllm_and_lmcache_were_found(engine: Engine) -> None:
    """Not everything was skipped."""
    assert engine.has_vllm
    found = {
        (failure.id, sign.package)
        for failure in failures()
        for sign in failure.signs
        for release, _root in _roots().get(sign.package, ())
        if sign.file.endswith(".py") and _is_of(sign, release)
    }
    assert len({name for name, package in found if package == "vllm"}) > 10
    assert len({name for name, package in found if package == "lmcache"}) > 8


def _parts(sign: Sign, words: str) -> list[str]:
    if sign.package in {"vllm", "lmcache", "transformers", "huggingface_hub", "asyncio"}:
        return [words]
    known = {
        ": error: argument --": ["argument %(argument_name)s: %(message)s"],
        "error: unrecognized arguments: ": ["unrecognized arguments: %s"],
        "Address already in use (addr=": [" (addr=\0)"],
        "No package metadata was found for vllm": ["No package metadata was found for \0"],
    }
    return known.get(words, [words])
