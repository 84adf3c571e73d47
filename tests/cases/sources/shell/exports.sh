#!/usr/bin/env bash
# One server with LMCache in its process.
set -euo pipefail

export HF_HOME=/data/hf
export PYTHONHASHSEED=0
export LMCACHE_CHUNK_SIZE=256
export LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=20.0

vllm serve meta-llama/Llama-3.1-8B-Instruct \
    --port 8000 \
    --max-model-len 32768 \
    --gpu-memory-utilization 0.85 \
    --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1", "kv_role":"kv_both"}'
