#!/bin/bash
DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cat > /tmp/lmcache.yaml <<'EOF'
chunk_size: 256
local_cpu: true
max_local_cpu_size: 8
EOF
cat <<EOF > /tmp/vllm.yaml
model: Qwen/Qwen3-8B
max-model-len: 32768
kv-transfer-config:
  kv_connector: LMCacheConnectorV1
  kv_role: kv_both
EOF
export LMCACHE_CONFIG_FILE=/tmp/lmcache.yaml
export OTHER="$DIR/templates"
vllm serve --config /tmp/vllm.yaml --port 8080
