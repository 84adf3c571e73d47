#!/bin/bash
docker run --rm -d --name vllm --runtime nvidia --gpus '"device=0,1"' \
  -v ~/.cache/huggingface:/root/.cache/huggingface \
  --env "HF_TOKEN=$HF_TOKEN" \
  -e LMCACHE_CHUNK_SIZE=256 \
  -p 8000:8000 --ipc=host --memory 200g \
  lmcache/vllm-openai:v0.4.5 \
  Qwen/Qwen3-32B --tensor-parallel-size 2 \
  --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
