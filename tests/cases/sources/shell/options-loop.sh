#!/bin/bash
MODEL="openai/gpt-oss-20b"
PORT=8000
while [[ $# -gt 0 ]]; do
  case $1 in
    --model) MODEL="$2"; shift 2 ;;
    --port) PORT="$2"; shift 2 ;;
    *) echo "unknown option $1"; exit 1 ;;
  esac
done
[[ -d /models ]] || { echo "no models"; exit 1; }
command -v vllm >/dev/null || exit 1
vllm serve "$MODEL" --port "$PORT" --async-scheduling
