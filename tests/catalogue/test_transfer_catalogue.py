"""KVTransferConfig's fields: the reader of vLLM's source, and what the catalogue says."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.neighbours import neighbours
from hmactl.catalogue.source.hashing import hashing
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import directory_sources
from hmactl.catalogue.source.transfer import transfer_config
from hmactl.catalogue.transfer_fields import transfer_fields

PYDANTIC = "from pydantic.dataclasses import dataclass\n"
STDLIB = "from dataclasses import dataclass\n@config\n@dataclass\nclass KVTransferConfig:"
PASSES = "def config(cls):\n    return cls\n"
FORBIDS = (
    "def config(cls):\n    merged = ConfigDict(extra='forbid')\n    return made(cls, merged)\n"
)
BODY = """
    kv_connector: str | None = None
    kv_buffer_size: float = 1e9
    device: str = field(default_factory=of_the_platform)
    extra: dict[str, Any] = field(default_factory=dict)
    needed: int
    KIND: ClassVar[str] = "kv"
    def method(self) -> None: ...
"""


def _read(tmp_path: Path, head: str, body: str = BODY, utils: str = PASSES) -> dict[str, Any]:
    config = tmp_path / "vllm" / "config"
    config.mkdir(parents=True)
    (config / "utils.py").write_text(utils)
    text = "from vllm.config.utils import config\n" + head + body
    (config / "kv_transfer.py").write_text(textwrap.dedent(text))
    return transfer_config(directory_sources("vllm", tmp_path))


def test_fields_with_their_types_and_defaults(tmp_path: Path) -> None:
    read = _read(tmp_path, PYDANTIC + "@config\n@dataclass\nclass KVTransferConfig:")
    assert read["fields"] == {
        "kv_connector": {"type": "str | None", "default": None},
        "kv_buffer_size": {"type": "float", "default": 1e9},
        "device": {"type": "str", "made_by": "of_the_platform"},
        "extra": {"type": "dict[str, Any]", "default": {}},
        "needed": {"type": "int"},
    }


@pytest.mark.parametrize(
    ("head", "utils", "others"),
    [
        (PYDANTIC + "@config\n@dataclass\nclass KVTransferConfig:", PASSES, "ignored"),
        ("@config\nclass KVTransferConfig:", FORBIDS, "refused"),
    ],
)
def test_what_becomes_of_others(tmp_path: Path, head: str, utils: str, others: str) -> None:
    assert _read(tmp_path, head, utils=utils)["others"] == {"are": others}


@pytest.mark.parametrize(
    ("head", "body", "utils"),
    [
        # Python's own dataclass takes no others, but that is for a reader to find out.
        (STDLIB, BODY, PASSES),
        ("@config\nclass KVTransferConfig:", BODY, PASSES),
        ("@config(config=other)\nclass KVTransferConfig:", BODY, FORBIDS),
        ("@config\nclass Another:", BODY, FORBIDS),
        ("@config\nclass KVTransferConfig:", "\n    a: int = computed()\n", FORBIDS),
        ("@config\nclass KVTransferConfig:", "\n    a: int = field(init=False)\n", FORBIDS),
    ],
)
def test_another_form_is_not_guessed(tmp_path: Path, head: str, body: str, utils: str) -> None:
    with pytest.raises(NotUnderstoodError):
        _read(tmp_path, head, body, utils)


@pytest.mark.parametrize(
    ("version", "around"),
    [
        ("0.12.0", ("0.12.0",)),
        ("0.12.0+cpu", ("0.12.0",)),
        ("0.12", ("0.12.0",)),
        ("0.12.1", ("0.12.0", "0.14.1")),
        ("0.14.2", ("0.14.1",)),
        ("0.14.2.post1", ("0.14.1",)),
        ("0.15.0", ()),
        ("0.11.0", ()),
        ("nightly", ()),
    ],
)
def test_which_releases_answer(version: str, around: tuple[str, ...]) -> None:
    assert neighbours(version, ("0.12.0", "0.14.1")) == around


def test_every_release_of_the_window() -> None:
    every = transfer_fields(None)
    assert (every[0].version, every[-1].version) == ("0.11.1", "0.33.0")
    minors = {release.version.split(".")[1] for release in every}
    assert minors == {str(minor) for minor in range(11, 34)}
    # In all of them, by vllm.config.kv_transfer.
    assert all({"kv_connector", "kv_role", "engine_id"} <= r.fields for r in every)


HASHES = """
def get_hash_fn_by_name(name):
    if name == "sha256":
        return sha256
    if name == "xxhash" and other == "no name":
        return xxhash
    raise ValueError(f"no {name}")
"""


@pytest.mark.parametrize(
    ("cache", "fixed"),
    [("DEFAULT_NONE_HASH_SEED = 's'\n", True), ("NONE_HASH: int\nSEED = 1\n", False)],
)
def test_hash_algorithms(tmp_path: Path, cache: str, fixed: bool) -> None:
    for module, text in (("utils/hashing", HASHES), ("v1/core/kv_cache_utils", cache)):
        path = tmp_path / "vllm" / f"{module}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    read = hashing(directory_sources("vllm", tmp_path))
    assert read == {"names": ["sha256", "xxhash"], "fixed_seed": fixed}


def test_hash_algorithms_elsewhere_are_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(NotUnderstoodError):
        hashing(directory_sources("vllm", tmp_path))
