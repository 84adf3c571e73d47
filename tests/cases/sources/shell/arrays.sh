#!/usr/bin/env bash
MODEL="${MODEL:-google/gemma-3-12b-it}"
CMD_ARGS=(
  --served-model-name gemma "gemma-3"
  --max-model-len "${MAX_LEN:-65536}"   # tokens
)
CMD_ARGS+=(--enable-prefix-caching)
if [[ "${EAGER:-0}" == "1" ]]; then
  CMD_ARGS+=(--enforce-eager)
fi
KV_CONFIG=$(cat <<EOF
{
  "kv_connector": "OffloadingConnector",
  "kv_role": "kv_both",
  "kv_connector_extra_config": {"cpu_bytes_to_use": ${CPU_BYTES:-1073741824}}
}
EOF
)
CMD_ARGS+=(--kv-transfer-config "$KV_CONFIG")
exec vllm serve "$MODEL" "${CMD_ARGS[@]}" "$@"
