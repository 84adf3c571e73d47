FROM lmcache/vllm-openai:v0.3.9
ENV LMCACHE_LOCAL_DISK="file:///cache/" LMCACHE_MAX_LOCAL_DISK_SIZE=100
ENV EXTRA='{"a": "b"}'
