# escape=`
FROM vllm/vllm-openai:v0.12.0
WORKDIR /app
RUN cat > start.sh <<'EOF'
#!/bin/bash
export VLLM_USE_V1=1
exec vllm serve "$@" --enforce-eager
EOF
CMD vllm serve Qwen/Qwen3-8B `
    --max-model-len 4096
