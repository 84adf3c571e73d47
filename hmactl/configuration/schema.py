"""The JSON Schema of ``.hmactl.yaml``, for editors."""

from typing import Any

from hmactl.finding import Severity

_RULE = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9]{0,2}[0-9]{0,3}$"}
_RULES = {"type": "array", "items": _RULE}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_VERSION = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)*[a-z0-9.+\-]*$"}


def configuration_schema() -> dict[str, Any]:
    """Of a file `.hmactl.yaml`, and of the table `[tool.hmactl]`."""
    settings: dict[str, tuple[str, dict[str, Any]]] = {
        "select": ("Only these rules: ids such as LMC012, or their beginnings.", _RULES),
        "ignore": ("Not these rules: ids such as LMC012, or their beginnings.", _RULES),
        "per-path-ignores": (
            "Rules that do not matter in the files that a glob pattern matches, which counts from "
            "this file's directory.",
            {"type": "object", "additionalProperties": _RULES},
        ),
        "include": ("Glob patterns of the files of a directory that are read.", _TEXTS),
        "exclude": ("Glob patterns of files and directories that are not read.", _TEXTS),
        "vllm": ("The vLLM version of deployments that do not say theirs, in quotes.", _VERSION),
        "lmcache": (
            "The LMCache version of deployments that do not say theirs, in quotes.",
            _VERSION,
        ),
        "fail-on": (
            "The severity from which on a finding makes the exit status 1.",
            {"enum": [str(severity) for severity in Severity], "default": str(Severity.ERROR)},
        ),
        "baseline": (
            "A baseline file, whose findings do not count; its path counts from this file's.",
            {"type": "string", "minLength": 1},
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hmactl configuration",
        "description": "Settings of `hmactl lint` for a repository.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: {"description": text, **schema} for key, (text, schema) in settings.items()
        },
    }
