"""What config classes of transformers say of the KV cache where a config.json says nothing.

    python tools/config_defaults.py --out hmactl/catalogue/data/config-defaults.json

Reads the source of the installed transformers, without importing it: the annotated defaults of
every class with a `model_type`.
"""

import argparse
import ast
import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any

# The keys that the estimator asks for.
_KEYS = frozenset(
    """
    attention_chunk_size attn_layer_offset attn_layer_period attn_layer_indices block_types
    conv_L_cache conv_kernel expand full_attention_interval head_dim hidden_size
    kv_lora_rank layer_types linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads
    linear_num_value_heads linear_value_head_dim mamba_d_conv mamba_d_head mamba_d_ssm
    mamba_d_state mamba_expand mamba_head_dim mamba_n_groups mamba_n_heads mamba_num_heads
    max_position_embeddings max_window_layers n_groups no_rope_layer_interval
    no_rope_layers num_attention_heads num_hidden_layers num_key_value_heads num_kv_shared_layers
    original_max_position_embeddings qk_nope_head_dim qk_rope_head_dim sliding_window
    sliding_window_pattern ssm_state_size state_size use_sliding_window v_head_dim
    """.split()  # noqa: SIM905 - a list of forty strings reads worse
)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    found = importlib.util.find_spec("transformers")
    if found is None or found.origin is None:
        raise SystemExit("transformers is not installed here")
    defaults: dict[str, dict[str, Any]] = {}
    for file in sorted(Path(found.origin).parent.glob("models/*/configuration_*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and (known := _defaults(node)):
                defaults |= known
    version = importlib.metadata.version("transformers")
    about = "defaults of the config classes, by model_type; written by tools/config_defaults.py"
    lines = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(defaults[key])}" for key in sorted(defaults)
    )
    parser.parse_args().out.write_text(
        f'{{\n "about": "{about}",\n "source": "transformers {version}",\n'
        f' "defaults": {{\n{lines}\n }}\n}}\n',
        "utf-8",
    )


def _defaults(node: ast.ClassDef) -> dict[str, dict[str, Any]]:
    model_type = None
    values: dict[str, Any] = {}
    for statement in node.body:
        if isinstance(statement, ast.Assign) and _names(statement) == ["model_type"]:
            model_type = _literal(statement.value)
        elif (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.target.id in _KEYS
            and statement.value is not None
        ):
            value = _literal(statement.value)
            if value is not None:
                values[statement.target.id] = value
    return {model_type: values} if isinstance(model_type, str) and values else {}


def _names(statement: ast.Assign) -> list[str]:
    return [target.id for target in statement.targets if isinstance(target, ast.Name)]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


if __name__ == "__main__":
    main()
