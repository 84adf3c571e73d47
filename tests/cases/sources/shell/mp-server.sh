#!/bin/bash
set -e
trap 'kill $(jobs -p)' EXIT

lmcache server --l1-size-gb 60 --eviction-policy LRU --port 6555 --chunk-size 256 &
sleep 5

PYTHONHASHSEED=0 vllm serve Qwen/Qwen3-14B \
  --kv-transfer-config \
  '{"kv_connector":"LMCacheMPConnector", "kv_role":"kv_both",
    "kv_connector_extra_config": {"lmcache.mp.host": "tcp://localhost", "lmcache.mp.port": 6555}}' &

until curl -sf http://localhost:8000/health; do sleep 1; done
wait
