#!/bin/bash
read -r -d '' KV <<'JSON' || true
{"kv_connector": "MultiConnector", "kv_role": "kv_both",
 "kv_connector_extra_config": {"connectors": [
   {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
   {"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}]}}
JSON
vllm serve openai/gpt-oss-20b --kv-transfer-config "$KV" --no-disable-hybrid-kv-cache-manager
