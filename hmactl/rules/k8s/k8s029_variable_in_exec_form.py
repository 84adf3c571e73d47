"""A variable stands where no shell replaces it.

What: the list of CMD or ENTRYPOINT, which starts a server without a shell, has `$NAME` in an item.

Why: Docker does not replace variables there. vLLM gets the text `$NAME` as its model or as an
option's value.

Failing example: `CMD ["vllm", "serve", "$MODEL"]`.

Passing example: `CMD exec vllm serve "$MODEL"`.

Source: https://docs.docker.com/reference/dockerfile/#variable-substitution.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S029"
SEVERITY = Severity.ERROR
