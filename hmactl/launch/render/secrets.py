"""Texts of a launch with references where a secret stood."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hmactl.deployment.setting import Json
from hmactl.launch.render.model import Reference, Text
from hmactl.report.redact import holds_secret, is_secret_name

# The variables by which vLLM and the Hugging Face hub know them.
_OF_OPTIONS = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}
_NO_NAME = re.compile(r"\W+", re.ASCII)


@dataclass(slots=True)
class Secrets:
    """Makes references, the same for the same secret; ``values`` are what they stand for."""

    values: dict[str, str] = field(default_factory=dict)

    def environment(self, variables: Mapping[str, str]) -> tuple[tuple[str, Text], ...]:
        """The variables; a secret is a reference to a variable of the same name."""
        return tuple((name, self._of_variable(name, value)) for name, value in variables.items())

    def arguments(self, arguments: Sequence[str]) -> tuple[Text, ...]:
        """The arguments; of JSON only the values that hold a secret become references."""
        return tuple(self._arguments(arguments))

    def _of_variable(self, name: str, value: str) -> Text:
        if value and (is_secret_name(name) or holds_secret(value)):
            return (self._reference(name, value),)
        return (value,) if value else ()

    def _arguments(self, arguments: Sequence[str]) -> Iterator[Text]:
        option = ""
        for argument in arguments:
            if not argument.startswith("--"):
                yield self._of_option(option, argument)
                continue
            written, equals, value = argument.partition("=")
            option = written.lstrip("-").replace("_", "-")
            if equals:
                yield (f"{written}=", *self._of_option(option, value))
            else:
                yield (argument,)

    def _of_option(self, option: str, value: str) -> Text:
        if not value:
            return ()
        name = _OF_OPTIONS.get(option, option or "model")
        if is_secret_name(option):
            return (self._reference(name, value),)
        if not holds_secret(value):
            return (value,)
        return self._of_json(name, value) or (self._reference(name, value),)

    def _of_json(self, name: str, text: str) -> Text | None:
        """None where the text is no JSON whose secret values can be cut out as they stand."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        parts: list[str | Reference] = []
        rest = text
        for key, value in _secret_leaves(document, ""):
            before, written, rest = rest.partition(_spelt(value, rest))
            if not written:
                return None
            parts += [f'{before}"', self._reference(f"{name}_{key}", value), '"']
        texts = [part for part in (*parts, rest) if isinstance(part, str)]
        if any(holds_secret(part) for part in texts) or not parts:
            return None
        return (*parts, rest)

    def _reference(self, name: str, value: str) -> Reference:
        spelt = _NO_NAME.sub("_", name).strip("_")
        spelt = spelt if spelt == name else spelt.upper()
        found, number = spelt, 1
        while self.values.get(found, value) != value:
            number += 1
            found = f"{spelt}_{number}"
        self.values[found] = value
        return Reference(found)


def _secret_leaves(value: Json, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _secret_leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _secret_leaves(inner, key)
    elif isinstance(value, str) and value and (is_secret_name(key) or holds_secret(value)):
        yield key, value


def _spelt(value: str, text: str) -> str:
    """The string as JSON that stands in a text."""
    ascii_only = json.dumps(value)
    return ascii_only if ascii_only in text else json.dumps(value, ensure_ascii=False)
