FROM nvidia/cuda:12.9.1-devel-ubuntu24.04 AS build
ENV ONLY_WHILE_BUILDING=1
RUN pip wheel vllm

FROM python:3.12-slim AS base
ARG VLLM_VERSION=0.11.1
ARG LMCACHE_VERSION
ENV PYTHONHASHSEED=0
RUN pip install --no-cache-dir vllm==${VLLM_VERSION} \
      lmcache==${LMCACHE_VERSION}
COPY --from=build /wheels /wheels
CMD ["sleep", "infinity"]

FROM base
COPY <<EOF /etc/lmcache/config.yaml
chunk_size: 256
local_cpu: true
max_local_cpu_size: 40
remote_url: redis://$PYTHONHASHSEED.cache:6379
EOF
COPY --chmod=644 <<-"EOF" /etc/vllm/
	model: Qwen/Qwen3-14B
	max-model-len: 32768
	kv-transfer-config: '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
	EOF
ENV LMCACHE_CONFIG_FILE=/etc/lmcache/config.yaml
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
CMD exec vllm serve --config /etc/vllm/EOF --tensor-parallel-size 2
