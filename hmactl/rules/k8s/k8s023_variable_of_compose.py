"""A variable of the container is replaced by Compose.

What: `command` has `$NAME`, and the service sets `NAME` in its own `environment`. Compose replaces
`$NAME` from where it runs and from `.env`, and never from there.

Why: where neither has the variable it is empty: vLLM gets no model, or an option without a value.

Failing example: `environment: {MODEL: Qwen/Qwen3-8B}` with `command: vllm serve $MODEL`.

Passing example: `MODEL=Qwen/Qwen3-8B` in `.env`; or `command: sh -c 'vllm serve $$MODEL'`, which
leaves it to the shell in the container.

Source: https://docs.docker.com/reference/compose-file/interpolation/.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S023"
SEVERITY = Severity.WARNING
