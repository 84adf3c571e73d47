"""A list in a Dockerfile is no JSON.

What: CMD or ENTRYPOINT has a list with single quotes, with a comma too many, or with quotes inside
of an item that are not escaped.

Why: Docker takes what is no JSON for a command of the shell, which looks for a program named
`[vllm,`. The container ends with: not found.

Failing example: `CMD ['vllm', 'serve', 'Qwen/Qwen3-8B']`.

Passing example: `CMD ["vllm", "serve", "Qwen/Qwen3-8B"]`.

Source: https://docs.docker.com/reference/dockerfile/#exec-form.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S028"
SEVERITY = Severity.ERROR
