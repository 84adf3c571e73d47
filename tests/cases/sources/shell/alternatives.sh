#!/bin/bash
# usage: serve.sh prefill|decode [MODEL]
if [ $# -lt 1 ]; then
    echo "usage: $0 prefill|decode [MODEL]"
    exit 1
fi
MODEL=${2:-Qwen/Qwen2.5-7B-Instruct}
export UCX_TLS=all

case "$1" in
  prefill)
    CUDA_VISIBLE_DEVICES=0 VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve $MODEL --port 8100 \
      --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'
    ;;
  decode)
    CUDA_VISIBLE_DEVICES=1 VLLM_NIXL_SIDE_CHANNEL_PORT=5601 vllm serve $MODEL --port 8200 \
      --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'
    ;;
  *)
    echo "unknown role $1" >&2
    exit 2
    ;;
esac
