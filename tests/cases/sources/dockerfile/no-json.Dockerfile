FROM vllm/vllm-openai:v0.12.0
ENV MODEL=Qwen/Qwen3-8B
ENTRYPOINT ["vllm", "serve"]
CMD ["$MODEL", "--served-model-name", "${NAME}"]
