#!/bin/bash
export LMCACHE_CONFIG_FILE=lmcache.yaml
for i in 0 1; do
  CUDA_VISIBLE_DEVICES=$i LMCACHE_LMCACHE_INSTANCE_ID="engine-$i" \
    vllm serve Qwen/Qwen3-8B --port $((8000 + i)) \
    --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}' \
    > "log-$i.txt" 2>&1 &
done
wait
