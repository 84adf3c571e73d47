"""An option and its value are one word.

What: an item of a list, or a word in quotes, has an option and its value with a blank between them.

Why: nothing splits it. vLLM's parser takes the whole for a model's name, or refuses it, and ends
with a usage error.

Failing example: `args: ["m", "--max-model-len 8192"]`.

Passing example: `args: ["m", "--max-model-len", "8192"]`, or `"--max-model-len=8192"`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "CLI008"
SEVERITY = Severity.ERROR
