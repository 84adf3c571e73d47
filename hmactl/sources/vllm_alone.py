"""vLLM's own configuration file by itself, as ``vllm serve --config FILE`` would read it."""

from pathlib import PurePath

from hmactl.deployment.files import TextFile
from hmactl.deployment.form import Form
from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.sources.given import Given
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Word
from hmactl.sources.yaml_nodes import read_documents


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
