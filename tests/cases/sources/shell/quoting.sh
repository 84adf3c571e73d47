#!/bin/bash
CONN="LMCacheConnectorV1"
vllm serve 'Qwen/Qwen3-8B' --kv-transfer-config "{\"kv_connector\": \"$CONN\", \"kv_role\": \"kv_both\"}" --override-generation-config '{"temperature": 0.2}' --served-model-name a\ b $'tab\there' --chat-template "" --port=8000
