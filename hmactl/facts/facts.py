"""What is known about a deployment, and who said so."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, cast

from hmactl.catalogue.gpus import Gpu
from hmactl.deployment.deployment import Connector, Deployment
from hmactl.deployment.lmcache_file import LMCacheFile
from hmactl.deployment.setting import Setting
from hmactl.engine.answer import Answer
from hmactl.engine.model_origin import ModelConfig
from hmactl.facts.memory import KvMemory
from hmactl.facts.transfer import written_connector

T = TypeVar("T")


def once(question: "Callable[[Facts], T]") -> "Callable[[Facts], T]":
    """Have a question about a deployment answered a single time: many rules ask the same."""

    @wraps(question)
    def ask(facts: Facts) -> T:
        if question not in facts.answered:
            facts.answered[question] = question(facts)
        return cast("T", facts.answered[question])

    return ask


@dataclass(frozen=True, slots=True)
class Facts:
    """The engine's answer about one deployment.

    ``gpu`` None is the plain CPU platform. ``memory`` is None where the engine refused before its
    plan. ``inherited`` are LMCache's variables in the caller's environment, which the server gets
    too unless the deployment has its own. ``answered`` is what ``once`` has of it.
    """

    deployment: Deployment
    answer: Answer
    model: ModelConfig | None
    gpu: Gpu | None
    memory: KvMemory | None
    lmcache_file: LMCacheFile | None = None
    inherited: tuple[Setting, ...] = ()
    answered: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def connector(self) -> Connector | None:
        """The connector as written, under ``connector:`` or as ``kv-transfer-config``."""
        return _connector(self)

    @property
    def connector_classes(self) -> frozenset[str]:
        """The registry names of the connector that loads and of its children."""
        connector = self.answer.connector
        return frozenset() if connector is None else frozenset(c.name for c in connector.walk())

    @property
    def groups(self) -> int:
        """KV cache groups with HMA on; 0 where unknown or where the model has no KV cache."""
        return 0 if self.answer.plan is None else len(self.answer.plan.hma_on.groups)


@once
def _connector(facts: Facts) -> Connector | None:
    return written_connector(facts.deployment)
