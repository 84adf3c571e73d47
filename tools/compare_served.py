"""Compare the plan with what really started servers log, for tiny models of many kinds.

    python tools/compare_served.py [--out docs/served.md] [KIND ...]

For maintainers, run by hand: each kind starts `hmactl serve` on the CPU with dummy weights, waits
for the line in which vLLM logs its KV cache size, and ends the server. About 40 s each.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from tiny_models import write_config

COMMON: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "max_position_embeddings": 131072,
    "dtype": "bfloat16",
}
SLIDING = ["sliding_attention"] * 3 + ["full_attention"]
KINDS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "head_dim": 64},
    "llama-gqa": {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 64,
    },
    "qwen2": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]},
    "qwen3": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 64},
    "mistral-sliding": {
        "model_type": "mistral",
        "architectures": ["MistralForCausalLM"],
        "sliding_window": 512,
        "head_dim": 64,
    },
    "mixtral": {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        "num_local_experts": 4,
        "head_dim": 64,
    },
    "phi3": {
        "model_type": "phi3",
        "architectures": ["Phi3ForCausalLM"],
        "pad_token_id": 0,
    },
    "starcoder2": {"model_type": "starcoder2", "architectures": ["Starcoder2ForCausalLM"]},
    "granite": {"model_type": "granite", "architectures": ["GraniteForCausalLM"]},
    "gemma2": {
        "model_type": "gemma2",
        "architectures": ["Gemma2ForCausalLM"],
        "head_dim": 64,
        "sliding_window": 512,
        "query_pre_attn_scalar": 64,
    },
    "olmo3": {
        "model_type": "olmo3",
        "architectures": ["Olmo3ForCausalLM"],
        "sliding_window": 512,
        "layer_types": SLIDING,
    },
    "cohere2": {
        "model_type": "cohere2",
        "architectures": ["Cohere2ForCausalLM"],
        "sliding_window": 512,
        "layer_types": SLIDING,
    },
    "exaone4": {
        "model_type": "exaone4",
        "architectures": ["Exaone4ForCausalLM"],
        "sliding_window": 512,
        "layer_types": SLIDING,
    },
    "gpt-oss": {
        "model_type": "gpt_oss",
        "architectures": ["GptOssForCausalLM"],
        "head_dim": 64,
        "sliding_window": 128,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "granitemoehybrid": {
        "model_type": "granitemoehybrid",
        "architectures": ["GraniteMoeHybridForCausalLM"],
        "shared_intermediate_size": 256,
        "layer_types": ["mamba", "mamba", "attention", "mamba"],
        "num_local_experts": 0,
        "num_experts_per_tok": 0,
        "mamba_n_heads": 8,
        "mamba_d_head": 32,
        "mamba_n_groups": 1,
        "mamba_d_state": 64,
        "position_embedding_type": "nope",
    },
    "falcon-h1": {
        "model_type": "falcon_h1",
        "architectures": ["FalconH1ForCausalLM"],
        "head_dim": 64,
        "mamba_d_ssm": 256,
        "mamba_n_heads": 8,
        "mamba_d_head": 32,
        "mamba_n_groups": 1,
        "mamba_d_state": 64,
    },
    "lfm2": {
        "model_type": "lfm2",
        "architectures": ["Lfm2ForCausalLM"],
        "layer_types": ["conv", "conv", "full_attention", "conv"],
        "block_auto_adjust_ff_dim": False,
        "block_dim": 128,
        "block_ff_dim": 256,
        "block_multiple_of": 32,
        "block_ffn_dim_multiplier": 1.0,
        "conv_dim": 128,
        "conv_bias": False,
        "conv_L_cache": 3,
    },
    "gemma3": {},
    "qwen3_next": {},
    "jamba": {},
}
FROM_TESTS = ("gemma3", "qwen3_next", "jamba")
CAPACITY = re.compile(r"KV cache size: ([\d,]+) tokens.*per request: ([\d.]+)x")
SECONDS = 240


def make(kind: str, directory: Path) -> None:
    """Write the config of a kind, which is all that dummy weights need."""
    if kind in FROM_TESTS:
        write_config(kind, directory)
        return
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(COMMON | KINDS[kind]))


def profile(kind: str, directory: Path) -> Path:
    """A profile that serves the model of a kind on the CPU without a tokenizer."""
    path = directory / "profile.yaml"
    path.write_text(
        f"name: {kind}\nmodel: {directory / 'model'}\n"
        "vllm: {enforce-eager: true, max-model-len: 8192, kv-cache-memory-bytes: 67108864,\n"
        "  load-format: dummy, skip-tokenizer-init: true, host: 127.0.0.1, port: 8439}\n"
        "target: {gpu: cpu}\n"
    )
    return path


def planned(path: Path) -> tuple[str, str]:
    """The tokens and concurrency that hmactl predicts, as vLLM would print them."""
    done = subprocess.run(
        [sys.executable, "-m", "hmactl", "check", "-q", "--no-cache", "--format", "json", path],
        capture_output=True,
        text=True,
        check=False,
    )
    one = json.loads(done.stdout)["deployments"][0]
    if one["plan"] is None:
        return "refused", one["verdict"]["reason"]
    side = one["plan"]["hma_on"]
    if side["tokens"] is None:
        return "refused", str(side["error"])
    return f"{side['tokens']:,}", f"{side['max_concurrency']:.2f}"


def served(path: Path) -> tuple[str, str]:
    """The tokens and concurrency that a server logs."""
    log = path.with_name("serve.log")
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "hmactl", "serve", "-q", path],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            text = log.read_text(errors="replace")
            if found := CAPACITY.search(text):
                return found[1], found[2]
            if server.poll() is not None:
                errors = [line for line in text.splitlines() if "Error" in line]
                return "ended", errors[0][:120] if errors else f"status {server.returncode}"
            time.sleep(0.5)
        return "silent", f"{SECONDS} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def main() -> None:
    """Compare the kinds named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], metavar="KIND")
    parser.add_argument("--out", type=Path, help="write the table there, as Markdown")
    arguments = parser.parse_args()
    rows = ["| kind | planned | served | equal |", "|---|---|---|---|"]
    for kind in arguments.kinds or KINDS:
        with tempfile.TemporaryDirectory() as directory:
            make(kind, Path(directory, "model"))
            path = profile(kind, Path(directory))
            plan, real = planned(path), served(path)
        equal = "yes" if plan == real else "NO"
        rows.append(f"| {kind} | {' tokens, '.join(plan)}x | {' tokens, '.join(real)}x | {equal} |")
        print(rows[-1], flush=True)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
