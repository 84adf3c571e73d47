"""Reading connectors from source: small packages written by the test, never imported."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue.hma import describe
from catalogue.releases import NotUnderstoodError, lmcache_release, vllm_release
from catalogue.runs import compact, expand, write
from catalogue.sources import Sources, directory_sources, wheel_sources
from catalogue.wheels import Wanted, parse_wanted, wheel

HERE = "vllm.distributed.kv_transfer.kv_connector"
V1 = f"{HERE}.v1"
BASE = """
class SupportsHMA: ...
class KVConnectorBase_V1: ...
"""
FROM_BASE = f"from {V1}.base import KVConnectorBase_V1, SupportsHMA\n"


def _vllm(parent: Path, **modules: str) -> Sources:
    """A vLLM with those modules in kv_connector/v1; ``a__b`` is a/b.py."""
    v1 = parent.joinpath(*V1.split("."))
    for name, text in {"base": BASE, "__init__": "", **modules}.items():
        path = v1 / ("__init__.py" if name == "__init__" else name.replace("__in", "/__in"))
        if path.suffix != ".py":
            path = v1 / f"{name.replace('__', '/') if '__init' not in name else path.name}.py"
        if name.endswith("__init__") and name != "__init__":
            path = v1 / name.removesuffix("__init__").strip("_") / "__init__.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory_sources("vllm", parent)


def _hma(sources: Sources, module: str, name: str = "C") -> Any:
    return describe(sources, f"{V1}.{module}", name)["supports_hma"]
