#!/bin/bash
vllm serve Qwen/Qwen3-8B \
  --tensor-parallel-size 2 \
  # --max-num-seqs 64 \
  --max-model-len 16384
