"""config.json of a tiny model needs no engine; a whole one is small and quickly made."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parent.parent / "tiny_models.py"


def test_a_config_alone_needs_neither_torch_nor_transformers(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        import tiny_models
        tiny_models.write_config("gemma3", Path(sys.argv[2]))
        assert not {"torch", "transformers"} & set(sys.modules)
    """
    command = [sys.executable, "-c", code, str(_SCRIPT.parent), str(tmp_path / "new" / "gemma3")]
    subprocess.run(command, check=True)
    config = json.loads((tmp_path / "new" / "gemma3" / "config.json").read_text())
    assert config["architectures"] == ["Gemma3ForCausalLM"]
    assert config["layer_types"].count("sliding_attention") == 5
    assert [entry.name for entry in (tmp_path / "new" / "gemma3").iterdir()] == ["config.json"]


@pytest.mark.engine
@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen3_next", "jamba"])
def test_a_whole_model_is_small_and_counts_hi_as_one_token(tmp_path: Path, name: str) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    subprocess.run([sys.executable, str(_SCRIPT), name, str(tmp_path)], check=True)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 4e6
    assert (tmp_path / "model.safetensors").exists()
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert "hi" in vocabulary
    assert len(vocabulary) <= json.loads((tmp_path / "config.json").read_text())["vocab_size"]
