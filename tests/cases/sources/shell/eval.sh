#!/bin/bash
model_name=${MODEL_NAME:-Qwen/Qwen3-8B}
BASE_CMD="CUDA_VISIBLE_DEVICES=0 vllm serve $model_name --port 8100"
if [ -n "${TP:-}" ]; then BASE_CMD="$BASE_CMD --tensor-parallel-size $TP"; fi
BASE_CMD="$BASE_CMD --kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'"
eval "$BASE_CMD &"
