#!/bin/bash
source ./site.env
export LMCACHE_REMOTE_URL="redis://$REDIS_HOST:6379"
export HF_TOKEN=$(cat /run/secrets/hf)
GPUS=$(nvidia-smi -L | wc -l)
vllm serve "$MODEL_DIR/model" --tensor-parallel-size $GPUS --max-model-len=$MAX_LEN $EXTRA_ARGS
