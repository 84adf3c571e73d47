"""What hmactl itself reads of a release."""

from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.releases import (
    lmcache_release,
    names,
    vllm_release,
)

__all__ = ["NotUnderstoodError", "lmcache_release", "names", "vllm_release"]
