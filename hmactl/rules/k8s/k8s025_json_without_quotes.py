"""JSON loses its quotes before vLLM sees it.

What: a word of a command is JSON that stands in no quotes of its own, and Compose, systemd or
Docker removes the double quotes in it while it splits the words.

Why: vLLM gets `{kv_connector:LMCacheConnectorV1}`, which is no JSON, and refuses it.

Failing example: `command: m --kv-transfer-config {"kv_connector":"LMCacheConnectorV1"}`.

Passing example: `command: m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1"}'`, where
the single quotes are the command's; or a list, in which every item is a word as it stands.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S025"
SEVERITY = Severity.ERROR
