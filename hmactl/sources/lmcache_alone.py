"""LMCache's own configuration file by itself: a deployment of which only that is known."""

import json
from pathlib import PurePath

from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.sources.given import Given
from hmactl.sources.lmcache_file import VARIABLE
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word
from hmactl.sources.yaml_nodes import read_documents

_CONNECTOR = "LMCacheConnectorV1"
_ROLES = {"sender": "kv_producer", "receiver": "kv_consumer"}


def read_lmcache(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """A vLLM with LMCache in its process that reads this file; the rest of it is not known."""
    del given
    documents = read_documents(source, text)
    root = documents[0].root if documents else None
    place = Origin(source, *(root.position if root is not None else (1, 1)))
    config = {"kv_connector": _CONNECTOR, "kv_role": _role(root)}
    words = ("vllm", "serve", "--kv-transfer-config", json.dumps(config))
    return (
        Process(
            source=source,
            form=Form.LMCACHE,
            name="stdin" if source == "-" else PurePath(source).stem,
            argv=tuple(Word(word, place) for word in words),
            environment=(Variable(VARIABLE, Word(source, place), place),),
            unknown=(
                Unknown(Area.VLLM, None, "(the command of vLLM)", place),
                Unknown(Area.ENV, "PYTHONHASHSEED", "(the environment)", place),
            ),
            files=(TextFile(source, text, places_of_file(source, text)),),
        ),
    )


def _role(root: Node | None) -> str:
    value = root.value if root is not None else None
    for key in ("pd_role", "nixl_role"):
        if isinstance(value, dict) and (role := _ROLES.get(str(value.get(key)))) is not None:
            return role
    return "kv_both"
