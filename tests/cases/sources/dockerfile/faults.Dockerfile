FROM python:3.12
RUN pip install vllm==0.12.0
ENV KV={"kv_connector":"LMCacheConnectorV1"}
ENTRYPOINT vllm serve Qwen/Qwen3-8B
CMD ["--port", "8000"]
