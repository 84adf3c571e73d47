"""Virtual environments with one vLLM each, as small as a dry boot allows.

Each sees the packages of a base interpreter (a complete, newer engine) behind its own, so only
vLLM itself and what it wants in another version is installed. PyTorch stays the base's: compiled
extensions of another vLLM then do not load, which a dry boot does not need.
"""

import json
import re
import subprocess
import venv
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Built for one torch or one driver, large, and never run by a dry boot.
_SHARED = re.compile(
    r"(torch|torchvision|torchaudio|torchcodec|triton|intel-.*|nvidia-.*|cuda-.*|flashinfer-.*"
    r"|quack-kernels|tokenspeed-.*|fastsafetensors|tilelang|apache-tvm-ffi|numba|llvmlite|ray"
    r"|numpy|opencv-.*|setuptools.*|.*-cuda[0-9]*|.*-cu[0-9]+|humming-.*|outlines-core"
    r"|pydantic|pydantic-core|protobuf|mooncake.*|nixl.*|xformers)"
)


def environment(directory: Path, distribution: str, version: str, base: Path) -> Path:
    """The interpreter of the environment for that version, made if it is not there."""
    home = directory / f"{distribution}-{version}"
    python = home / "bin" / "python"
    done = home / "complete"
    if done.exists():
        return python
    shared = Path(_purelib(base))
    venv.create(home, symlinks=True, with_pip=False)
    own = Path(_purelib(python))
    (own / "zz_base.pth").write_text(f"{shared}\n")
    _install(base, own, [f"{distribution}=={version}"])
    _complete(base, own, shared, distribution)
    done.touch()
    return python


def _purelib(python: Path) -> str:
    script = "import json, sysconfig; print(json.dumps(sysconfig.get_path('purelib')))"
    found = subprocess.run(
        [str(python), "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return str(json.loads(found.stdout))


def _install(base: Path, target: Path, requirements: list[str]) -> None:
    command = [str(base), "-m", "pip", "install", "-qq", "--no-deps", "--no-compile"]
    command += ["--disable-pip-version-check", "--target", str(target), *requirements]
    subprocess.run(command, check=True)


def _complete(base: Path, own: Path, shared: Path, distribution: str) -> None:
    """Install what is asked for in another version than the base has, and what that asks for."""
    asked_by = [distribution]
    while asked_by:
        present = _present(shared) | _present(own)
        wanted = {}
        for name in asked_by:
            for requirement in _requirements(present[canonicalize_name(name)]):
                found = present.get(canonicalize_name(requirement.name))
                if found is None or not requirement.specifier.contains(found.version, True):
                    wanted[canonicalize_name(requirement.name)] = str(requirement)
        if wanted:
            print("  ", *wanted.values(), flush=True)
            _install(base, own, list(wanted.values()))
        asked_by = list(wanted)


def _present(directory: Path) -> dict[str, Distribution]:
    found = distributions(path=[str(directory)])
    return {canonicalize_name(d.metadata["Name"]): d for d in found}


def _requirements(distribution: Distribution) -> list[Requirement]:
    requirements = [Requirement(text) for text in distribution.requires or ()]
    return [
        r
        for r in requirements
        if (r.marker is None or r.marker.evaluate({"extra": ""}))
        and not _SHARED.fullmatch(canonicalize_name(r.name))
    ]
