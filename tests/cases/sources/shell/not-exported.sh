#!/bin/bash
LMCACHE_CHUNK_SIZE=512
LMCACHE_MAX_LOCAL_CPU_SIZE=40
VLLM_PORT=9000
MODEL=Qwen/Qwen3-8B
LMCACHE_LOCAL_CPU=True vllm serve "$MODEL" --port $VLLM_PORT \
  --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
