"""The seams where releases of vLLM differ, each with a stand-in for the release."""

import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from hmactl.engine.answer import Plan
from hmactl.engine.dryboot import absent, absent_packages, arguments, engine_config, layers
from hmactl.engine.dryboot.evidence import own_fault
from hmactl.engine.dryboot.virtual_gpu import _PlatformsFinder


def _module(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: Any) -> types.ModuleType:
    """Put a module in place, with its parents."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        parent = ".".join(parts[:depth])
        if parent not in sys.modules or not hasattr(sys.modules[parent], "stand_in"):
            package = types.ModuleType(parent)
            vars(package).update(stand_in=True, __path__=[])
            monkeypatch.setitem(sys.modules, parent, package)
    module = types.ModuleType(name)
    vars(module).update(attributes)
    monkeypatch.setitem(sys.modules, name, module)
    return module


class TestArguments:
    def test_the_first_home_that_is_there(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "old_home").mkdir()
        (tmp_path / "old_home" / "cli_args.py").write_text("def make_arg_parser(): return 1\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(arguments, "_HOMES", ("new_home.cli_args", "old_home.cli_args"))
        assert arguments._make_arg_parser()() == 1

    def test_a_home_that_is_broken_says_so(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "broken_home.py").write_text("import nothing_of_that_name\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(arguments, "_HOMES", ("broken_home",))
        with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
            arguments._make_arg_parser()

    def test_nowhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(arguments, "_HOMES", ("new_home.cli_args",))
        with pytest.raises(ImportError, match="cannot find"):
            arguments._make_arg_parser()


@pytest.mark.parametrize(
    ("default", "parsed", "flag"),
    [
        (None, None, None),
        (None, False, False),
        (None, True, True),
        (False, False, None),
        (False, True, True),
    ],
)
def test_the_flag_that_an_operator_gave(
    monkeypatch: pytest.MonkeyPatch, default: bool | None, parsed: bool | None, flag: bool | None
) -> None:
    engine_args = types.SimpleNamespace(disable_hybrid_kv_cache_manager=default)
    _module(monkeypatch, "vllm.engine.arg_utils", AsyncEngineArgs=engine_args)
    given = types.SimpleNamespace(disable_hybrid_kv_cache_manager=parsed)
    assert engine_config.operator_flag(given) is flag


class TestLayers:
    @pytest.fixture
    def found(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        def layer(spec: str | None, shares: str | None = None) -> Any:
            return types.SimpleNamespace(
                get_kv_cache_spec=lambda _config: spec,
                kv_sharing_target_layer_name=shares,
                get_attn_backend=lambda: Backend,
            )

        class Backend:
            @staticmethod
            def get_name() -> str:
                raise NotImplementedError

        found = {"own": layer("full"), "none": layer(None), "shared": layer("full", "own")}
        _module(
            monkeypatch, "vllm.config", get_layers_from_vllm_config=lambda _config, _kind: found
        )
        home = "vllm.model_executor.layers.attention_layer_base"
        _module(monkeypatch, home, AttentionLayerBase=object)
        return found

    @pytest.mark.usefixtures("found")
    def test_specs_of_the_layers_themselves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "vllm.v1.worker.gpu.attn_utils", None)
        assert layers.kv_cache_specs(None) == {"own": "full"}

    @pytest.mark.usefixtures("found")
    def test_the_workers_own_question_comes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def ask(_config: Any) -> dict[str, str]:
            return {"own": "customised", "shared": "full"}

        _module(monkeypatch, "vllm.v1.worker.gpu.attn_utils", get_kv_cache_spec=ask)
        assert layers.kv_cache_specs(None) == {"own": "customised"}

    @pytest.mark.usefixtures("found")
    def test_backends_each_once_by_the_name_that_they_have(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        utils = "vllm.distributed.kv_transfer.kv_connector.utils"
        monkeypatch.setitem(sys.modules, utils, None)
        assert [layers.backend_name(b) for b in layers.attention_backends(None)] == ["Backend"]

    def test_no_block_size_to_settle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Platform:
            def __getattr__(self, name: str) -> Any:
                raise AssertionError(f"asked for {name}")

        _module(monkeypatch, "vllm.platforms", current_platform=Platform())
        layers.settle_block_size(None)


class TestPlan:
    @pytest.fixture
    def plan(self) -> Any:
        pytest.importorskip("torch")
        from hmactl.engine.dryboot import plan

        return plan

    def test_hears_what_older_releases_print(self, plan: Any) -> None:
        logged = plan._Logged()
        logger = plan._Listener(object(), logged)
        logger.info_once("GPU KV cache size: %s tokens", "1,234,560", scope="local")
        logger.info_once("Maximum concurrency for %s tokens per request: %.2fx", "131,072", 9.4189)
        logger.info("something %s", "else")
        assert (logged.tokens, logged.max_concurrency) == (1_234_560, 9.4189)

    def test_of_several_stages_the_smallest(self, plan: Any) -> None:
        logged = plan._Logged()
        for tokens in ("200", "100", "300"):
            logged.hear("GPU KV cache size: %s tokens", (tokens,))
        assert logged.tokens == 100

    def test_says_what_is_missing(self, plan: Any) -> None:
        whole = {"num_blocks": 1, "groups": [{}], "tokens": 16, "max_concurrency": 1.0}
        assert plan.missing({"hma_on": whole, "hma_off": {"error": {"message": "no"}}}) == []
        (sentence,) = plan.missing({"hma_on": whole | {"tokens": None}})
        assert sentence.startswith("the tokens of the plan with HMA on: ")


class TestAbsent:
    def test_an_extension_of_another_build_is_empty(self, tmp_path: Path) -> None:
        library = tmp_path / "_C.abi3.so"
        library.write_bytes(b"no library at all")
        spec = absent._ExtensionFinder().find_spec("vllm._C", [str(tmp_path)])
        assert spec is not None
        assert spec.origin == str(library)
        module = importlib.util.module_from_spec(spec)
        assert spec.loader is not None
        spec.loader.exec_module(module)
        assert module.__name__ == "vllm._C"

    def test_other_modules_are_not_its_business(self) -> None:
        assert absent._ExtensionFinder().find_spec("vllm.config", []) is None

    def test_a_directory_without_code_is_no_flash_attention(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        _module(monkeypatch, "vllm", __path__=[])
        (tmp_path / "vllm_flash_attn").mkdir()
        finder = absent_packages._PackageFinder()
        spec = finder.find_spec("vllm.vllm_flash_attn", [str(tmp_path)])
        assert spec is not None
        package = importlib.util.module_from_spec(spec)
        finder.exec_module(package)
        with pytest.raises(RuntimeError, match="cannot run"):
            package.flash_attn_varlen_func()
        assert finder.find_spec("vllm.vllm_flash_attn.layers", []) is not None

    def test_real_flash_attention_stays(self, tmp_path: Path) -> None:
        (tmp_path / "vllm_flash_attn").mkdir()
        (tmp_path / "vllm_flash_attn" / "__init__.py").touch()
        finder = absent_packages._PackageFinder()
        assert finder.find_spec("vllm.vllm_flash_attn", [str(tmp_path)]) is None
        assert finder.find_spec("vllm.vllm_flash_attn.layers", []) is None

    @pytest.mark.parametrize(
        ("capability", "supported"), [((8, 0), {2, 3}), ((8, 9), {2}), ((9, 0), {2, 3})]
    )
    def test_flash_attention_versions(
        self, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], supported: set[int]
    ) -> None:
        platform = types.SimpleNamespace(get_device_capability=lambda: capability)
        _module(monkeypatch, "vllm.platforms", current_platform=platform)
        asked = absent_packages._flash_attention_versions()["is_fa_version_supported"]
        assert {version for version in (2, 3, 4) if asked(version)} == supported


def test_the_platform_is_told_as_soon_as_it_can_be_asked(tmp_path: Path) -> None:
    (tmp_path / "platforms").mkdir()
    (tmp_path / "platforms" / "__init__.py").write_text(
        "def vllm_version_matches_substr(part): return True\n"
        "def resolve_current_platform_cls_qualname(): return 'cpu'\n"
    )
    platform = object()
    spec = _PlatformsFinder(lambda: platform).find_spec("vllm.platforms", [str(tmp_path)])
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    home, _, name = module.resolve_current_platform_cls_qualname().rpartition(".")
    assert home == "vllm.platforms"
    assert getattr(module, name)() is platform
    assert not module.vllm_version_matches_substr("cpu")
    assert module.vllm_version_matches_substr("xpu")


class TestStrangers:
    """A vLLM in which the dry boot does not know its way is no refusal of that vLLM."""

    def test_the_engine_asks_for_something_unforeseen(self) -> None:
        pytest.importorskip("torch")
        from hmactl.engine.dryboot import plan

        executor = plan._Executor([], [])
        assert getattr(executor, "dp_group", None) is None
        with pytest.raises(AttributeError, match="asks its executor for `new`, which") as caught:
            executor.new()
        assert own_fault(caught.value)
        with pytest.raises(AttributeError, match="asks its engine core for `newer`") as caught:
            plan._Engine(None, executor).newer()
        assert own_fault(caught.value)

    @pytest.mark.usefixtures("vllm_without_layers")
    def test_something_has_moved(self) -> None:
        with pytest.raises(ImportError) as caught:
            layers.kv_cache_specs(None)
        assert own_fault(caught.value)

    @pytest.fixture
    def vllm_without_layers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _module(monkeypatch, "vllm.config")

    def test_what_the_engine_raises_is_its_own(self) -> None:
        for raised in (ImportError("x"), ValueError("x")):
            with pytest.raises(type(raised)) as caught:
                raise raised
            assert not own_fault(caught.value)

    def test_words_that_the_dry_boot_only_passes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Parser:
            def __init__(self, **_options: Any) -> None: ...

            def add_subparsers(self, **_options: Any) -> Any:
                return types.SimpleNamespace(add_parser=lambda _name: None)

        _module(monkeypatch, "vllm.utils.argparse_utils", FlexibleArgumentParser=Parser)
        monkeypatch.setattr(arguments, "_make_arg_parser", lambda: lambda _parser: None)
        parser, _ = arguments.serve_parser()
        with pytest.raises(arguments.ArgumentsRefusedError) as caught:
            parser.error("no such thing")
        assert not own_fault(caught.value)


@pytest.mark.parametrize(
    ("tokens", "concurrency", "capacity"),
    [
        (1_551_920, 11.840210, 1_551_920),  # 0.32.0 prints what is held
        (873_808, 12.535978, 1_643_115),  # 0.17.1 prints what one of two groups holds
        (873_808, 6.666626, 873_808),
        (873_808, None, 873_808),
        (None, 6.0, None),
    ],
)
def test_capacity_can_be_compared(
    tokens: int | None, concurrency: float | None, capacity: int | None
) -> None:
    plan = Plan(error=None, tokens=tokens, max_concurrency=concurrency, max_model_len=131_072)
    assert plan.capacity == capacity
