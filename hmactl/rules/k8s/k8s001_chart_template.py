"""A file is a template of a Helm chart.

What: a text has actions of Helm's templates, such as `{{ .Values.image }}`, between the lines of a
manifest.

Why: what they stand for is in the chart's values and helpers. The file alone says nothing certain.

Failing example: `templates/deployment.yaml` of a chart.

Passing example: `helm template CHART -f VALUES | hmactl check -`; or the values of a chart that
hmactl knows.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S001"
SEVERITY = Severity.ERROR
