"""A text in whatever form operators write it, its deployments out."""

from collections.abc import Callable

from hmactl.catalogue.flags import vllm_flags
from hmactl.deployment.form import Form
from hmactl.sources.document import Document
from hmactl.sources.given import Given
from hmactl.sources.process.deployment import documents
from hmactl.sources.process.process import Process
from hmactl.sources.profile import read_profiles
from hmactl.sources.shell.script import read_shell

Reader = Callable[[str, str, Given], tuple[Process, ...]]
_READERS: dict[Form, Reader] = {Form.SHELL: read_shell}


def read_source(
    source: str, text: str, form: Form | None = None, given: Given | None = None
) -> tuple[Document, ...]:
    """The deployments in a text, in its order.

    ``source`` is its name in findings. Without ``form`` the content tells which it is.
    """
    given = given or Given()
    form = form or Form.PROFILE
    if form is Form.PROFILE:
        return read_profiles(source, text)
    return documents(_READERS[form](source, text, given), vllm_flags(), given.read_file)
