"""Compose does not take the rest of a command.

What: `command` or `entrypoint` is one string, with a `;`, `&`, `|`, `<` or `>` outside of quotes,
or with a quote or a bracket that Compose does not understand. Compose splits it into words as a
shell does, but starts no shell.

Why: it drops everything from that character on and does not say so, or refuses the file.

Failing example: `command: m --max-model-len 8192 > /tmp/log --enforce-eager`.

Passing example: `command: [bash, -c, "exec vllm serve m --enforce-eager > /tmp/log"]`.

Source: github.com/mattn/go-shellwords, which Compose splits commands with.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S027"
SEVERITY = Severity.ERROR
