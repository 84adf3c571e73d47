"""hmactl profiles: YAML text or a file in, one deployment per document out."""

import stat
from pathlib import Path

from pydantic import ValidationError

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.setting import Origin
from hmactl.finding import Finding, Severity
from hmactl.sources.document import Document
from hmactl.sources.profile_conflicts import check_conflicts
from hmactl.sources.profile_deployment import make_deployment
from hmactl.sources.profile_errors import explain_validation
from hmactl.sources.profile_model import ProfileModel
from hmactl.sources.profile_names import check_names
from hmactl.sources.profile_problems import Problems
from hmactl.sources.text_file import read_start
from hmactl.sources.yaml_nodes import YamlDocument, read_documents

MAX_BYTES = 1 << 20
_STDIN = "-"


def read_profile_file(path: Path) -> tuple[Document, ...]:
    """The profiles in a file.

    Never raises for what a path can name, and never waits for data: a file that cannot be read is
    one finding (PRO001).
    """
    source = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _unreadable(source, "is a directory", "name a file in it")
        if not stat.S_ISREG(mode):
            return _unreadable(
                source, "is not a regular file", "name a YAML file, or `-` for standard input"
            )
        data = read_start(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return _unreadable(
            source, f"cannot be read: {reason.lower()}", "check the path and its permissions"
        )
    if len(data) > MAX_BYTES:
        return _too_large(source)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _not_text(source, data.count(b"\n", 0, error.start) + 1)
    return read_profiles(source, text)


def read_profiles(path: str, text: str) -> tuple[Document, ...]:
    """The profiles in a text; ``path`` is the file's name in findings, ``-`` for standard input.

    Never raises, whatever the text. Empty documents are skipped; a text with nothing else is one
    finding (PRO001).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        return _not_text(path, text.count("\n", 0, error.start) + 1)
    if size > MAX_BYTES:
        return _too_large(path)
    if "\0" in text:
        return _not_text(path, text.count("\n", 0, text.index("\0")) + 1)
    documents = read_documents(path, text.removeprefix("\ufeff"))
    if not documents:
        return _unreadable(
            path, "holds no profile: it is empty", "write a profile; only `model` is required"
        )
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
        profile = ProfileModel.model_validate(problems.usable())
    except ValidationError as error:
        explain_validation(problems, error)
        usable = problems.usable()
        model_is_known = "model" in usable
        profile = ProfileModel.model_validate({"model": "unknown"} | usable)
    else:
        model_is_known = True
    deployment = make_deployment(problems, profile, _default_name(problems.source, index))
    return deployment if model_is_known else None


def _default_name(source: str, index: int) -> str:
    stem = "stdin" if source == _STDIN else Path(source).stem
    return f"{stem}#{index + 1}" if index else stem


def _unreadable(source: str, what: str, fix: str) -> tuple[Document, ...]:
    return _file_finding(Origin(source), f"`{source}` {what}", fix)


def _too_large(source: str) -> tuple[Document, ...]:
    return _unreadable(
        source,
        f"is larger than {MAX_BYTES >> 20} MiB, which no profile is",
        "name a profile, or split it into several files",
    )


def _not_text(source: str, line: int) -> tuple[Document, ...]:
    return _file_finding(
        Origin(source, line, 1), f"`{source}` is not UTF-8 text", "save it as UTF-8"
    )


def _file_finding(origin: Origin, message: str, fix: str) -> tuple[Document, ...]:
    consequence = "there is nothing to check and nothing to serve"
    finding = Finding("PRO001", Severity.ERROR, message, consequence, fix, origin)
    return (Document(origin.source, 0, None, (finding,)),)
