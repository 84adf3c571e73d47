#!/bin/bash
if [ "$PROFILE" = large ]; then
  SIZE=4
  EXTRA="--max-model-len 131072 --kv-cache-dtype fp8"
else
  SIZE=1
  EXTRA="--max-model-len 16384"
fi
vllm serve Qwen/Qwen3-32B --tensor-parallel-size $SIZE $EXTRA
