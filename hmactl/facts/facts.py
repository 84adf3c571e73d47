"""What is known about a deployment, and who said so."""

from dataclasses import dataclass

from hmactl.catalogue.gpus import Gpu
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.setting import Setting
from hmactl.engine.answer import Answer
from hmactl.engine.model_config import ModelConfig
from hmactl.facts.memory import KvMemory
from hmactl.facts.transfer import transfer_connector


@dataclass(frozen=True, slots=True)
class Facts:
    """The engine's answer about one deployment.

    ``gpu`` None is the plain CPU platform. ``memory`` is None where the engine refused before its
    plan. ``inherited`` are LMCache's variables in the caller's environment, which the server gets
    too unless the deployment has its own.
    """

    deployment: Deployment
    answer: Answer
    model: ModelConfig | None
    gpu: Gpu | None
    memory: KvMemory | None
    lmcache_file: LMCacheFile | None = None
    inherited: tuple[Setting, ...] = ()

    @property
    def connector(self) -> Connector | None:
        """The connector as written, under ``connector:`` or as ``kv-transfer-config``."""
        return self.deployment.connector or transfer_connector(self.deployment)

    @property
    def connector_classes(self) -> frozenset[str]:
        """The registry names of the connector that loads and of its children."""
        connector = self.answer.connector
        return frozenset() if connector is None else frozenset(c.name for c in connector.walk())

    @property
    def groups(self) -> int:
        """KV cache groups with HMA on; 0 where unknown or where the model has no KV cache."""
        return 0 if self.answer.plan is None else len(self.answer.plan.hma_on.groups)
