"""vLLM's own configuration file by itself, as ``vllm serve --config FILE`` would read it."""

from pathlib import PurePath

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.sources.given import Given
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word
from hmactl.sources.profile_names import option_name
from hmactl.sources.yaml_nodes import read_documents

# Options of many programs have one word or two: `port`, `log-level`.
_OF_VLLM = 2


def read_vllm(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """A vLLM that is started with this file and no other option; its variables are not known."""
    del given
    documents = read_documents(source, text)
    root = documents[0].root if documents else None
    place = Origin(source, *(root.position if root is not None else (1, 1)))
    return (
        Process(
            source=source,
            form=Form.VLLM,
            name="stdin" if source == "-" else PurePath(source).stem,
            argv=tuple(Word(word, place) for word in ("vllm", "serve", "--config", source)),
            unknown=(Unknown(Area.ENV, None, "(the environment)", place),),
            files=(TextFile(source, text, places_of_file(source, text)),),
        ),
    )


def looks_like_vllm_config(root: Node) -> bool:
    """Whether a YAML document is vLLM's configuration: most of its keys are options of vLLM, and
    one of them is of no other program."""
    value, flags = root.value, vllm_flags()
    if not isinstance(value, dict) or isinstance(value.get("model"), dict | list):
        return False
    names = [name for key in value if f"--{(name := option_name(key))}" in flags]
    return len(names) * 2 > len(value) and any(
        name.count("-") >= _OF_VLLM or name == "enforce-eager" for name in names
    )
