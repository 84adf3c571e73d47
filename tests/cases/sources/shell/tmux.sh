tmux new-session -d -s vllm "LMCACHE_CHUNK_SIZE=128 vllm serve Qwen/Qwen3-8B --port 8001"
ssh node2 'cd /srv && nohup vllm serve Qwen/Qwen3-8B --port 8002 > out.log 2>&1 &'
echo "vllm serve is up"
pkill -f "vllm serve"
