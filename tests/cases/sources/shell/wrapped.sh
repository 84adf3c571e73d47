#!/bin/sh
numactl --cpunodebind=0 env CUDA_VISIBLE_DEVICES=2,3 \
  python3 -m vllm.entrypoints.openai.api_server --model=mistralai/Mistral-7B-Instruct-v0.3 \
  --tensor_parallel_size=2 --kv-transfer-config.kv_connector OffloadingConnector \
  --kv-transfer-config.kv_role=kv_both 2>&1 | tee server.log
