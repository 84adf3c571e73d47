"""The name of an option is cut short.

What: vLLM's parser accepts the beginning of an option's name where only one option begins so.

Why: a version of vLLM with a second such option refuses the command as ambiguous, and who looks for
the option by its name does not find it.

Failing example: `vllm serve m --max-model 8192`.

Passing example: `vllm serve m --max-model-len 8192`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI005"
SEVERITY = Severity.WARNING
