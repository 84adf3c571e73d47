"""A configuration file, its settings out, or everything that is wrong with it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hmactl.configuration.configuration import KEYS, Configuration, PathIgnores
from hmactl.configuration.problem import ConfigurationError, Problem
from hmactl.deployment.setting import Origin
from hmactl.finding import Severity
from hmactl.sources.text_file import read_text
from hmactl.sources.wording import shortened
from hmactl.sources.yaml_nodes import read_documents

_RULES = re.compile(r"[A-Z][A-Z0-9]{0,2}\d{0,3}")
_VERSION = re.compile(r"\d+(\.\d+)*([a-z0-9.+\-]*)")
_BOM = "\ufeff"


def read_configuration(path: Path) -> Configuration:
    """The settings in a file: `[tool.hmactl]` of one that ends with .toml, else YAML.

    Raises ConfigurationError with everything that is wrong with it.
    """
    text = read_text(path)
    if text is None:
        raise ConfigurationError(
            (_problem(str(path), None, "cannot be read", "name a readable text file"),)
        )
    text = text.removeprefix(_BOM)
    source = str(path)
    content, lines = _toml(source, text) if path.suffix == ".toml" else _yaml(source, text)
    reading = _Reading(source, path.parent, lines)
    settings = {
        key.replace("-", "_"): reading.value(key, value)
        for key, value in content.items()
        if reading.knows(key)
    }
    if reading.problems:
        raise ConfigurationError(tuple(reading.problems))
    origins = {key: reading.origin(key) for key in content}
    return Configuration(**settings, directory=path.parent, origins=origins)


def _problem(source: str, line: int | None, message: str, fix: str) -> Problem:
    return Problem(Origin(source, line, None if line is None else 1), message, fix)


def _toml(source: str, text: str) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    import tomllib

    try:
        tools = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        match = re.search(r"at line (\d+)", str(error))
        line = None if match is None else int(match[1])
        fix = "correct its syntax"
        raise ConfigurationError((_problem(source, line, f"is no TOML: {error}", fix),)) from None
    content = tools.get("hmactl", {}) if isinstance(tools, dict) else {}
    if not isinstance(content, dict):
        fix = "write a table `[tool.hmactl]`"
        raise ConfigurationError((_problem(source, None, "`tool.hmactl` is no table", fix),))
    return content, _toml_lines(text, content)


def _toml_lines(text: str, content: Mapping[str, Any]) -> dict[str, int]:
    """The lines of the section's keys, as far as they are written one by one."""
    found: dict[str, int] = {}
    inside = False
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            head = stripped.strip("[] ").split("#")[0].replace('"', "").strip("] ")
            inside = head == "tool.hmactl"
            if head.startswith("tool.hmactl."):
                found.setdefault(head.removeprefix("tool.hmactl."), number)
        elif inside:
            key = stripped.partition("=")[0].strip().strip("\"'")
            if key in content:
                found.setdefault(key, number)
    return found


def _yaml(source: str, text: str) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    documents = read_documents(source, text)
    problems = [Problem(f.origin, f.message, f.fix) for d in documents for f in d.findings]
    if len(documents) > 1:
        problems.append(_problem(source, None, "has several documents", "keep one"))
    if problems:
        raise ConfigurationError(tuple(problems))
    root = documents[0].root if documents else None
    if root is None:
        return {}, {}
    if not isinstance(root.value, dict):
        fix = "write for example `fail-on: warning`"
        raise ConfigurationError((_problem(source, 1, "is no mapping of settings", fix),))
    return root.value, {str(key): place.line for key, place in root.keys.items()}


@dataclass(slots=True)
class _Reading:
    source: str
    directory: Path
    lines: Mapping[str, int]
    problems: list[Problem] = field(default_factory=list)

    def origin(self, key: str) -> Origin:
        line = self.lines.get(key)
        return Origin(self.source, line, None if line is None else 1)

    def complain(self, key: str, message: str, fix: str) -> None:
        self.problems.append(Problem(self.origin(key), message, fix))

    def knows(self, key: str) -> bool:
        if key in KEYS:
            return True
        near = get_close_matches(key.lower().replace("_", "-"), KEYS, 1)
        fix = f"a similar key exists: `{near[0]}`" if near else f"there are {', '.join(KEYS)}"
        self.complain(key, f"there is no setting `{shortened(key)}`", fix)
        return False

    def value(self, key: str, value: Any) -> Any:
        readers: dict[str, Callable[[str, Any], Any]] = {
            "select": self.rules,
            "ignore": self.rules,
            "per-path-ignores": self.path_ignores,
            "include": self.texts,
            "exclude": self.texts,
            "vllm": self.version,
            "lmcache": self.version,
            "fail-on": self.severity,
            "baseline": self.path,
        }
        return readers[key](key, value)

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.complain(key, f"`{shortened(key)}` must be a list of texts", 'write ["..."]')
            return ()
        return tuple(value)

    def rules(self, key: str, value: Any) -> tuple[str, ...]:
        found = tuple(text.upper() for text in self.texts(key, value))
        for text in found:
            if not _RULES.fullmatch(text):
                fix = "write ids such as LMC012, or their beginnings such as LMC"
                self.complain(key, f"`{shortened(text)}` is no rule", fix)
        return found

    def path_ignores(self, key: str, value: Any) -> tuple[PathIgnores, ...]:
        if not isinstance(value, dict):
            fix = "write a mapping such as `examples/: [LMC]`"
            self.complain(key, f"`{key}` must be a mapping of patterns to rules", fix)
            return ()
        found = []
        for pattern, rules in value.items():
            if not isinstance(rules, list):
                self.complain(
                    key, f"`{shortened(pattern)}` must have a list of rules", "write [LMC012]"
                )
                continue
            found.append(PathIgnores(pattern, self.rules(key, rules)))
        return tuple(found)

    def version(self, key: str, value: Any) -> str | None:
        if isinstance(value, str) and _VERSION.fullmatch(value):
            return value
        fix = f'write it as text, such as `{key}: "0.32.0"`'
        self.complain(key, f"`{key}` must be a version", fix)
        return None

    def severity(self, key: str, value: Any) -> Severity:
        words = [str(severity) for severity in Severity]
        if isinstance(value, str) and value in words:
            return Severity(value)
        self.complain(key, f"`{key}` must be a severity", f"write one of {', '.join(words)}")
        return Severity.ERROR

    def path(self, key: str, value: Any) -> Path | None:
        if isinstance(value, str) and value and "\0" not in value:
            return self.directory / value
        self.complain(key, f"`{key}` must be a path", "write the path of a file")
        return None
