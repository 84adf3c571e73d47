"""Which of torchvision, torchaudio and torchcodec load beside a torch, told from their files."""

import shutil
import subprocess
from pathlib import Path

import pytest
from environments import Environment

from hmactl.engine.elf import SharedObject, UnreadableError
from hmactl.engine.find import find_engine

_CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(_CC is None, reason="needs a C compiler")

_TORCH_FUNCTION = "_ZN3c103logEv"  # c10::log()
_WITHOUT_FUNCTION = ""


def _compile(path: Path, source: str, *needed: str) -> Path:
    """A shared object that links to those names, which need not exist afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stubs = path.parent / "stubs"
    stubs.mkdir()
    for name in needed:
        _link(stubs / name, "", "-Wl,-soname," + name)
    _link(path, source, "-Wl,--no-as-needed", *(str(stubs / name) for name in needed))
    shutil.rmtree(stubs)
    return path


def _link(path: Path, source: str, *flags: str) -> None:
    code = path.with_suffix(".c")
    code.write_text(source)
    subprocess.run(
        # The GNU hash table is what every wheel of torch has.
        [
            str(_CC), "-shared", "-fPIC", "-nostdlib", "-Wl,--hash-style=gnu",
            "-o", str(path), str(code), *flags,
        ],
        check=True,
    )  # fmt: skip
    code.unlink()


class _Site:
    """An environment with a torch that ships the named libraries."""

    def __init__(self, directory: Path, *libraries: str) -> None:
        self.environment = Environment(directory)
        self.torch = self.environment.add_package("torch")
        _compile(self.torch / "lib" / "libc10.so", f"int {_TORCH_FUNCTION}(void) {{ return 1; }}")
        for name in libraries:
            _compile(self.torch / "lib" / name, "")

    def add(self, file: str, *needed: str, calls: str = _TORCH_FUNCTION) -> Path:
        """An extension at ``package/file`` that needs those libraries and that function."""
        package, _, inside = file.partition("/")
        if not (self.environment.packages / package).exists():
            self.environment.add_package(package, "raise SystemExit('imported')")
        source = f"int {calls}(void); int f(void) {{ return {calls}(); }}" if calls else ""
        return _compile(self.environment.packages / package / inside, source, *needed)

    def broken(self) -> tuple[str, ...]:
        return find_engine(str(self.environment.python)).broken_media


@pytest.fixture
def site(tmp_path: Path) -> _Site:
    return _Site(tmp_path / "venv")


def test_builds_for_this_torch_are_sound(site: _Site) -> None:
    site.add("torchvision/_C.so", "libc10.so", "libc.so.6")
    site.add("torchaudio/lib/_torchaudio.abi3.so", "libc10.so")
    site.add("torchcodec/libtorchcodec_image.so", "libc10.so")
    assert site.broken() == ()


def test_cuda_builds_are_broken_beside_a_cpu_torch(site: _Site) -> None:
    site.add("torchvision/_C.so", "libc10.so", "libc10_cuda.so")
    site.add("torchaudio/lib/libtorchaudio.so", "libtorch_cuda.so")
    site.add("torchcodec/libtorchcodec_core4.so", "libc10_cuda.so")
    assert site.broken() == ("torchvision", "torchaudio", "torchcodec")


def test_a_build_for_another_torch_lacks_functions(site: _Site) -> None:
    site.add("torchvision/_C.so", "libc10.so", calls="_ZN3c1014only_in_oldersEv")
    assert site.broken() == ("torchvision",)


def test_functions_of_others_are_not_asked_of_torch(site: _Site) -> None:
    site.add("torchvision/_C.so", "libc10.so", calls="png_create_read_struct")
    assert site.broken() == ()


def test_torchvision_without_its_operators_is_broken(site: _Site) -> None:
    site.environment.add_package("torchvision")
    assert site.broken() == ("torchvision",)


def test_torchaudio_without_an_extension_is_sound(site: _Site) -> None:
    site.environment.add_package("torchaudio")
    assert site.broken() == ()


def test_missing_ffmpeg_is_not_the_fault_of_torch(site: _Site) -> None:
    site.add("torchcodec/libtorchcodec_core9.so", "libc10.so", "libavutil.so.61")
    assert site.broken() == ()


def test_the_cuda_runtime_may_come_from_three_places(tmp_path: Path) -> None:
    site = _Site(tmp_path / "venv", "libc10_cuda.so")
    extension = site.add("torchvision/_C.so", "libc10_cuda.so", "libcudart.so.99")
    assert site.broken() == ("torchvision",)
    # A wheel of NVIDIA's.
    wheel = site.environment.packages / "nvidia" / "cu99" / "lib" / "libcudart.so.99"
    _compile(wheel, "")
    assert site.broken() == ()
    wheel.unlink()
    # Beside the extension, where it is told to look.
    extension.unlink()
    runtime = extension.with_name("libcudart.so.99")
    _link(runtime, "", "-Wl,-soname,libcudart.so.99")
    _link(extension, "", "-Wl,--no-as-needed,-rpath,$ORIGIN", str(runtime))
    assert SharedObject(extension).needed() == ["libcudart.so.99"]
    assert site.broken() == ()
    runtime.unlink()
    assert site.broken() == ("torchvision",)
    # Or torch has loaded it itself, from wherever.
    library = site.torch / "lib" / "libc10_cuda.so"
    library.unlink()
    _compile(library, "", "libcudart.so.99")
    site.add("torchaudio/lib/_torchaudio.so", "libcudart.so.99", calls=_WITHOUT_FUNCTION)
    assert site.broken() == ()


def test_in_doubt_nothing_is_called_broken(site: _Site) -> None:
    (site.environment.add_package("torchvision") / "_C.so").write_bytes(b"MZ")
    assert site.broken() == ()


def test_without_torch_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.add_package("torchvision")
    assert find_engine(str(environment.python)).broken_media == ()


def test_symbols_are_read_as_the_loader_reads_them(tmp_path: Path) -> None:
    library = _compile(
        tmp_path / "library.so",
        "int needed(void); int maybe(void) __attribute__((weak));"
        "int offered(void) { return needed() + (maybe ? maybe() : 0); }",
        "libsome.so.1",
    )
    shared = SharedObject(library)
    assert shared.needed() == ["libsome.so.1"]
    assert list(shared.undefined()) == ["needed"]
    assert shared.exports("offered")
    assert not shared.exports("needed")


def test_a_damaged_file_is_called_unreadable(tmp_path: Path) -> None:
    whole = _compile(tmp_path / "library.so", "int f(void) { return 1; }").read_bytes()
    damaged = tmp_path / "damaged.so"
    for length in range(0, len(whole), 97):
        # Cut short, and with its head written over.
        for data in (whole[:length], whole[:32] + b"\xff" * min(length, 512) + whole[length:]):
            damaged.write_bytes(data)
            try:
                shared = SharedObject(damaged)
                assert isinstance([*shared.needed(), *shared.undefined()], list)
                shared.exports("f")
            except UnreadableError:
                continue
