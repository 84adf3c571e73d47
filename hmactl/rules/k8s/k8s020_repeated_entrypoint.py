"""A container's command repeats what its image starts.

What: the arguments of a container begin with `vllm serve`, `python -m ...` or a shell, and its
image is vllm/vllm-openai or lmcache/vllm-openai, whose entrypoint is `vllm serve` already.

Why: the words arrive behind that entrypoint. vLLM gets `vllm` as its model and the rest as further
arguments, and ends with a usage error.

Failing example: `docker run vllm/vllm-openai:v0.12.0 vllm serve Qwen/Qwen3-8B`; in a compose file
`command: vllm serve Qwen/Qwen3-8B`.

Passing example: `docker run vllm/vllm-openai:v0.12.0 Qwen/Qwen3-8B`, or `entrypoint: [vllm, serve]`
with `command: [Qwen/Qwen3-8B]`.

Source: docker/Dockerfile of both projects.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S020"
SEVERITY = Severity.ERROR
