#!/bin/bash
#SBATCH --job-name=vllm
#SBATCH --gres=gpu:8
#SBATCH --mem=512G
module load cuda/12.8
srun --ntasks=1 --gres=gpu:8 --container-image=vllm/vllm-openai:v0.20.2 \
  bash -lc 'export VLLM_USE_DEEP_GEMM=1; vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-expert-parallel --max-model-len 65536'
