"""hmactl profiles: YAML text or a file in, one deployment per document out."""

from pathlib import Path

from hmactl.deployment.deployment import Deployment
from hmactl.sources.document import Document
from hmactl.sources.profile_conflicts import check_conflicts
from hmactl.sources.profile_deployment import make_deployment
from hmactl.sources.profile_model import ProfileModel
from hmactl.sources.profile_names import check_names
from hmactl.sources.profile_problems import Problems
from hmactl.sources.profile_shape import MistakesError, read_section
from hmactl.sources.source_text import load_source, problem_of, unreadable
from hmactl.sources.yaml_nodes import YamlDocument, read_documents

_STDIN = "-"


def read_profile_file(path: Path) -> tuple[Document, ...]:
    """The profiles in a file; one that cannot be read is one finding (PRO001). Never raises."""
    text = load_source(path)
    return (text,) if isinstance(text, Document) else read_profiles(str(path), text)


def read_profiles(path: str, text: str) -> tuple[Document, ...]:
    """The profiles in a text; ``path`` is the file's name in findings, ``-`` for standard input.

    Never raises, whatever the text. Empty documents are skipped; a text with nothing else is one
    finding (PRO001).
    """
    if (problem := problem_of(path, text)) is not None:
        return (problem,)
    documents = read_documents(path, text.removeprefix("\ufeff"))
    if not documents:
        what = "holds no profile: it is empty"
        return (unreadable(path, what, "write a profile; only `model` is required"),)
    return tuple(_read_document(path, index, document) for index, document in enumerate(documents))


def _read_document(source: str, index: int, document: YamlDocument) -> Document:
    root = document.root
    if root is None:
        return Document(source, index, None, document.findings)
    problems = Problems(source, root, list(document.findings))
    deployment = None
    if isinstance(root.value, dict):
        deployment = _read_mapping(problems, index)
    else:
        problems.at_value(
            "PRO005",
            (),
            "a profile must be a mapping of keys and values",
            consequence="there is nothing to check and nothing to serve",
            fix="write for example `model: google/gemma-3-4b-it`",
        )
    findings = sorted(problems.findings, key=lambda f: (f.origin.line or 0, f.origin.column or 0))
    return Document(source, index, deployment, tuple(findings))


def _read_mapping(problems: Problems, index: int) -> Deployment | None:
    for route in problems.root.unsound():
        problems.drop(route)
    check_names(problems)
    check_conflicts(problems)
    try:
        profile = read_section(ProfileModel, problems.usable())
    except MistakesError as error:
        from hmactl.sources.profile_errors import explain_mistakes

        explain_mistakes(problems, error.mistakes)
        usable = problems.usable()
        model_is_known = "model" in usable
        profile = read_section(ProfileModel, {"model": "unknown"} | usable)
    else:
        model_is_known = True
    deployment = make_deployment(problems, profile, _default_name(problems.source, index))
    return deployment if model_is_known else None


def _default_name(source: str, index: int) -> str:
    stem = "stdin" if source == _STDIN else Path(source).stem
    return f"{stem}#{index + 1}" if index else stem
