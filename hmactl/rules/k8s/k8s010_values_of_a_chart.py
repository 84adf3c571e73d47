"""Values of a chart are not yet what runs.

What: the input is a values file of the vLLM production stack or of llm-d's modelservice, not the
manifests that Helm makes of it.

Why: hmactl knows what the chart's templates made of its values when they were read, and charts
change. Helm knows what your version makes of them.

Failing example: `hmactl check values.yaml`.

Passing example: `helm template CHART -f values.yaml | hmactl check -`.

Source: vllm-project/production-stack, helm/templates, commits 010004e, f1f9822 and 06bd6fb;
llm-d-incubation/llm-d-modelservice, charts/llm-d-modelservice/templates, commit 024c0f2.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S010"
SEVERITY = Severity.INFO
