# syntax=docker/dockerfile:1
FROM vllm/vllm-openai:v0.12.0@sha256:0b51ec38fb965b44f6aa75d8d847c5f21bc062b7140e1d83444b39b67fc4a2ea

ENV HF_HOME=/models \
    # comments may stand between
    LMCACHE_CHUNK_SIZE=256 \

    LMCACHE_LOCAL_CPU="True" LMCACHE_MAX_LOCAL_CPU_SIZE='20'
ENV VLLM_LOGGING_LEVEL DEBUG
RUN uv pip install --system "lmcache==0.3.10" && rm -rf /root/.cache

EXPOSE 8000
ENTRYPOINT ["vllm", "serve"]
CMD ["Qwen/Qwen3-8B", "--port", "8000", \
     "--kv-transfer-config", "{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}", \
     "--no-enable-prefix-caching"]
