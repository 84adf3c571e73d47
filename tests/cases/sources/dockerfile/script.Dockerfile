FROM python:3.12-slim
RUN pip install vllm==0.14.0
WORKDIR /app
COPY <<EOF start.sh
#!/bin/bash
export LMCACHE_LOCAL_CPU=True
exec vllm serve "\$MODEL" "\$@"
EOF
ENV MODEL=Qwen/Qwen3-4B
ENTRYPOINT ["/bin/bash", "start.sh"]
CMD ["--enforce-eager", "--kv-transfer-config={\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}"]
