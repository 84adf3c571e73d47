ARG VERSION=v0.13.0
FROM --platform=linux/amd64 vllm/vllm-openai:${VERSION}
ARG DEFAULT_MODEL=google/gemma-3-4b-it
ENV MODEL_NAME=$DEFAULT_MODEL \
    PORT=8080
ENV CACHE_DIR=/data/${MODEL_NAME} PATH=/opt/tools:$PATH
ENTRYPOINT python3 -m vllm.entrypoints.openai.api_server \
    --port ${PORT:-8000} \
    --model ${MODEL_NAME} \
    ${MAX_MODEL_LEN:+--max-model-len "$MAX_MODEL_LEN"} \
    --gpu-memory-utilization ${GPU_UTIL:-0.85} $VLLM_ARGS
