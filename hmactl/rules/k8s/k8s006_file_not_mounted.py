"""The ConfigMap that is mounted has no such file for LMCache.

What: LMCACHE_CONFIG_FILE names a file in a directory where only ConfigMaps of the same input are
mounted, and none of their keys is the file's name.

Why: an LMCache connector opens the file when vLLM makes it, and vLLM ends with FileNotFoundError.

Failing example: `LMCACHE_CONFIG_FILE=/etc/lmcache/lmcache.yaml` with a ConfigMap at `/etc/lmcache`
whose only key is `config.yaml`.

Passing example: the same with the key `lmcache.yaml`.

Since: 0.1.0.
"""

from hmactl.finding import Severity

ID = "K8S006"
SEVERITY = Severity.ERROR
