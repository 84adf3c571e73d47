docker run --gpus all --shm-size=16g --entrypoint /bin/bash vllm/vllm-openai:v0.24.0 -c "
  export VLLM_LOGGING_LEVEL=INFO
  vllm serve deepseek-ai/DeepSeek-V2-Lite \
    --trust-remote-code \
    --max-model-len 4096
"
