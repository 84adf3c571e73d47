"""Reading LMCache's settings from source: small packages written by the test, never imported."""

from pathlib import Path
from typing import Any

import pytest

from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.lmcache_config import lmcache_config, names_of_lmcache
from hmactl.catalogue.source.modules import directory_sources

HEAD = """
_CONFIG_ALIASES = {"old": "chunk", "dead": "chunk"}
_DEPRECATED_CONFIGS = {"old": "is old", "gone": "is gone"}
_CONFIG_DEFINITIONS = {
    "chunk": {"type": int, "default": 256, "env_converter": int},
    "limit": {"type": float, "default": float("inf"), "env_converter": float},
    "extra": {
        "type": Optional[dict],
        "default": None,
        "env_converter": lambda x: x if isinstance(x, dict) else json.loads(x) if x else None,
    },
    "bare": {"type": str, "default": "a"},
}
"""
CHECKS = """
def _validate_config(self):
    "Says something."
    used = self.extra is not None and self.extra.get("used")
    if self.chunk < 0:
        raise ValueError(f"no {self.chunk}")
    if self.bare:
        if not self.limit:
            logger.warning("set")
            self.limit = True
    if used:
        assert self.bare is not None, "needs it"
        del self.extra["used"]
    else:
        assert not self.limit
    return self
"""
# The class is made in the module itself, as long ago.
OWN = """
def _create_config_class():
    def _post_init(self):
        self.validate()
    return make_dataclass(_post_init, _from_env, _from_file)
def _from_file(cls, path):
    if not re.match("(.*)://(.*)", url):
        raise ValueError(f"Invalid remote storage url: {url}")
def _from_env(cls):
    instance = cls.from_defaults()
    _update_config_from_env(instance)
def _update_config_from_env(self):
    value = _parse_quoted_string(raw)
"""
# It is made by another module, which a method replaces.
MADE = """
LMCacheEngineConfig = create_config_class(namespace_extras={EXTRAS})
def _update_config_from_env(self):
    self.validate()
"""
BASE = """
def create_config_class(name):
    def _post_init(self):
        if not getattr(self, "lmcache_instance_id", None):
            self.lmcache_instance_id = uuid.uuid4().hex
    def _from_env(cls):
        _apply_env_converter_safely(definitions, name, value)
    def _from_file(cls, path):
        _apply_env_converter_safely(definitions, name, value)
    def _update_config_from_env(self):
        value = _parse_quoted_string(raw)
def validate_and_set_config_value(config, key, value):
    value = _apply_env_converter_safely(definitions, key, value)
    if key == "extra_config":
        value = json.loads(value)
"""
INTEGRATION = """
def lmcache_get_config():
    if "LMCACHE_CONFIG_FILE" not in os.environ:
        config = C.from_env()
    else:
        config = C.from_file(os.environ["LMCACHE_CONFIG_FILE"])
        {}
"""
UPDATES = "config.update_config_from_env()"
SETS = "from lmcache.v1.config_base import validate_and_set_config_value\n"
VLLM = "lmcache/integration/vllm"


def _read(parent: Path, files: dict[str, str]) -> dict[str, Any]:
    complete = {
        f"{VLLM}/utils.py": INTEGRATION.format("pass"),
        f"{VLLM}/vllm_v1_adapter.py": "",
        **files,
    }
    for name, text in complete.items():
        path = parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return lmcache_config(directory_sources("lmcache", parent))


def _config(text: str) -> dict[str, str]:
    return {"lmcache/v1/config.py": text}


def test_keys_and_old_names(tmp_path: Path) -> None:
    read = _read(tmp_path, _config(HEAD + OWN + CHECKS))
    assert read["keys"] == {
        "chunk": {"type": "int", "default": 256, "converter": "int"},
        "limit": {"type": "float", "default": "inf", "converter": "float"},
        "extra": {"type": "Optional[dict]", "default": None, "converter": "mapping"},
        "bare": {"type": "str", "default": "a"},
    }
    assert read["old_names"] == {
        "old": {"today": "chunk", "taken": True},
        "dead": {"today": "chunk", "taken": False},
        "gone": {"today": None, "taken": False},
    }


@pytest.mark.parametrize(
    "converter",
    [
        "_to_bool",
        "lambda x: x.strip()",
        "functools.partial(int, base=8)",
    ],
)
def test_a_converter_that_does_something_else_is_not_guessed(
    tmp_path: Path, converter: str
) -> None:
    text = HEAD.replace('"env_converter": int', f'"env_converter": {converter}')
    own = "def _to_bool(value):\n    return str(value).lower() in ['true', '1', 'yes']\n"
    with pytest.raises(NotUnderstoodError, match="the converter"):
        _read(tmp_path, _config(own + text + OWN + CHECKS))


@pytest.mark.parametrize("default", ["computed()", "5 * 3"])
def test_a_default_that_is_no_value_is_not_guessed(tmp_path: Path, default: str) -> None:
    text = HEAD.replace('"default": 256', f'"default": {default}')
    with pytest.raises(NotUnderstoodError, match="the default"):
        _read(tmp_path, _config(text + OWN + CHECKS))


def test_a_loader_of_its_own(tmp_path: Path) -> None:
    assert _read(tmp_path, _config(HEAD + OWN + CHECKS))["loading"] == {
        "over_file": False,
        "unquotes": True,
        "unreadable_variable": "default",
        "unreadable_in_file": "ends",
        "file_address_checked": True,
        "file_checked": "before variables",
        "variables_checked": False,
        "makes_instance_id": False,
        "connector_keys": "ignored",
        "connector_json": False,
        "hashes_by_name": False,
    }


@pytest.mark.parametrize(("replaced", "file_checked"), [(True, "at the end"), (False, "never")])
def test_a_loader_of_another_module(tmp_path: Path, replaced: bool, file_checked: str) -> None:
    extras = "{'update_config_from_env': _update_config_from_env}" if replaced else "{}"
    made = MADE.replace("{EXTRAS}", extras)
    files = {
        **_config(HEAD + made + CHECKS),
        "lmcache/v1/config_base.py": BASE,
        f"{VLLM}/utils.py": INTEGRATION.format(UPDATES),
        f"{VLLM}/vllm_v1_adapter.py": SETS,
        "lmcache/v1/token_database.py": "from vllm.utils.hashing import get_hash_fn_by_name\n",
    }
    assert _read(tmp_path, files)["loading"] == {
        "over_file": True,
        "unquotes": not replaced,
        "unreadable_variable": "none",
        "unreadable_in_file": "none",
        "file_address_checked": False,
        "file_checked": file_checked,
        "variables_checked": False,
        "makes_instance_id": True,
        "connector_keys": "converted",
        "connector_json": True,
        "hashes_by_name": True,
    }


def test_checks_as_steps(tmp_path: Path) -> None:
    used = "extra is not None and extra.get('used')"
    assert _read(tmp_path, _config(HEAD + OWN + CHECKS))["checks"]["steps"] == [
        {"when": ["chunk < 0"], "refuses": True},
        {"when": ["bare", "not limit"], "key": "limit", "to": "True"},
        {"when": [used, "bare is None"], "refuses": True},
        {"when": [used], "key": "extra", "item": "used"},
        {"when": [f"not ({used})", "limit"], "refuses": True},
    ]


@pytest.mark.parametrize(
    "statement",
    ["self.check_more()", "while self.chunk: pass", "assert len(self.extra)", "x = self.y = 1"],
)
def test_a_check_of_another_form_is_not_guessed(tmp_path: Path, statement: str) -> None:
    checks = f"def _validate_config(self):\n    {statement}\n"
    with pytest.raises(NotUnderstoodError):
        _read(tmp_path, _config(HEAD + OWN + checks))


@pytest.mark.parametrize("missing", ["_CONFIG_DEFINITIONS", "_create_config_class", "_from_file"])
def test_what_is_not_there_is_said(tmp_path: Path, missing: str) -> None:
    text = (HEAD + OWN + CHECKS).replace(missing, "other")
    with pytest.raises(NotUnderstoodError):
        _read(tmp_path, _config(text))


def test_names_in_the_source(tmp_path: Path) -> None:
    adapter = """
        import lmcache.v1.config
        class ExtraConfigDefault(enum.Enum):
            mq_timeout = 300.0
        skip = extra.get("lmcache.skip_save", os.getenv("LMCACHE_FORCE_SKIP_SAVE"))
        where = "lmcache.v1.somewhere"
    """
    files = _config(HEAD + OWN + CHECKS) | {
        f"{VLLM}/vllm_multi_process_adapter.py": adapter.replace("\n        ", "\n")
    }
    wanted = {
        *("LMCACHE_CONFIG_FILE", "LMCACHE_FORCE_SKIP_SAVE"),
        *("lmcache.mp.mq_timeout", "lmcache.skip_save"),
    }
    assert set(_read(tmp_path, files)["names"]) == wanted
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "c.py").write_text('from lmcache.v1 import x\nos.environ["LMCACHE_A"]\n')
    assert names_of_lmcache(directory_sources("vllm", tmp_path)) == {"LMCACHE_A"}
