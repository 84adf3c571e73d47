export A=1
vllm serve m \
  --port 1
