#!/bin/bash
log() { echo "[$(date +%T)] $*"; }

start_server() {
  local model=$1 port=$2
  shift 2
  log "starting vllm serve $model"
  nohup vllm serve "$model" --port "$port" "$@" > /tmp/vllm.log 2>&1 &
}

start_server Qwen/Qwen3-0.6B 8001 --enforce-eager
start_server Qwen/Qwen3-4B 8002 --max-model-len 8192 --enable-chunked-prefill

never_called() {
  vllm serve Qwen/Qwen3-1.7B --port "$1"
}
