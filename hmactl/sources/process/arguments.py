"""The arguments of a server, read as vLLM's own parser reads them.

vLLM's FlexibleArgumentParser: underscores count as dashes, ``--flag=value`` and ``--flag value``
are the same, ``--flag.key value`` collects into JSON that comes after everything else, ``-O3`` is
``--optimization-level 3``, and a beginning that only one option has stands for it.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hmactl.catalogue.flags import Flag, Flags
from hmactl.deployment.command import KV_TRANSFER_CONFIG
from hmactl.deployment.setting import Area, Json, Origin, Setting, Unknown
from hmactl.finding import Change, Edit, Finding, Severity, edit_at
from hmactl.sources.json_places import json_places
from hmactl.sources.process.part import part
from hmactl.sources.process.partly_known import partly_known
from hmactl.sources.process.word import Word
from hmactl.sources.wording import shortened

_SHORTEST_QUOTED = 3
_SECRET = re.compile("key|token|password|secret")
_OPTIMIZATION = "optimization-level"
_NUMBER = re.compile(r"-?\.?\d")
_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT])")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True, slots=True)
class Arguments:
    """``positional`` are the words that belong to no option; names are long and dashed."""

    positional: tuple[Word, ...]
    settings: tuple[Setting, ...]
    unknown: tuple[Unknown, ...]
    findings: tuple[Finding, ...]


def read_arguments(words: tuple[Word, ...], flags: Flags, area: Area = Area.VLLM) -> Arguments:
    """The settings in a program's arguments, in the order written, each at its option's place."""
    reading = _Reading(list(words), flags, area)
    reading.run()
    return Arguments(
        tuple(reading.positional),
        (*reading.settings, *reading.merged()),
        tuple(reading.unknown),
        tuple(reading.findings),
    )


def typed(text: str) -> Json:
    """A number where the text is one that is written back the same, else the text itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return text
    return value if json.dumps(value) == text else text


@dataclass(slots=True)
class _Reading:
    words: list[Word]
    flags: Flags
    area: Area
    at: int = 0
    positional: list[Word] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    dotted: dict[str, tuple[Origin, dict[str, Any]]] = field(default_factory=dict)

    def run(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if not _is_option(word):
                self.take_positional(word)
            elif word.text == "--":
                self.positional += self.words[self.at :]
                return
            else:
                self.take_option(self.parted(word))

    def parted(self, word: Word) -> Word:
        """The option of a word that has the value in it, too; the value is the next word then."""
        head = word.text.split(maxsplit=1)[0]
        if head == word.text or "=" in head or self.flags.find(head.replace("_", "-")) is None:
            return word
        start = len(word.text) - len(word.text[len(head) :].lstrip())
        self.words.insert(self.at, self.unquoted(part(word, start)))
        self.findings.append(
            Finding(
                "CLI008",
                Severity.ERROR,
                f"`{shortened(word.text)}` is one word, the blank included",
                "the parser takes the whole of it for an argument without an option, or refuses it",
                f"write it as two words (in a list, as two items), or `{head}=...`",
                word.origin,
                self.joined(word, head, start),
            )
        )
        return replace(part(word, 0, len(head)), known=True, several=False)

    def joined(self, word: Word, head: str, start: int) -> Edit | None:
        """The option and its value as `--option=value`, which is one word rightly."""
        option = self.flags.find(head.replace("_", "-"))
        value = part(word, start)
        if option is None or option.takes != "one" or self.unquoted(value) is not value:
            return None
        return edit_at(word.origin, word.text[:start], f"{head}=")

    def unquoted(self, value: Word) -> Word:
        """The value without quotes around it."""
        text = value.text
        quoted = len(text) >= _SHORTEST_QUOTED and text[0] == text[-1] and text[0] in "'\""
        return part(value, 1, len(text) - 1) if quoted else value

    def take_positional(self, word: Word) -> None:
        if word.several and self.positional:
            self.note_unknown(None, word, word.origin)
        else:
            self.positional.append(word)

    def take_option(self, word: Word) -> None:
        written, equals, _ = word.text.partition("=")
        inline = part(word, len(written) + 1) if equals else None
        if written.startswith("-O") and not written.startswith("--"):
            self.take_level(word, written, inline)
            return
        if not word.known and not equals:
            self.note_unknown(None, word, word.origin)
            return
        dashes = "--" if written.startswith("--") else "-"
        head, dot, keys = written.removeprefix(dashes).partition(".")
        name = head.replace("_", "-") if dashes == "--" else head
        option = self.flags.find(dashes + name)
        if option is None:
            option = Flag(name, None)
        elif option.shortened:
            self.warn_of_short_form(word, written, option)
        if dot:
            self.take_dotted(option.name, keys, word, inline)
        else:
            self.take_values(option, word, inline)

    def take_values(self, option: Flag, word: Word, inline: Word | None) -> None:
        takes = option.takes
        if option.negative or takes == "nothing":
            if inline is not None:
                self.refuse_value(option, inline, word)
            elif (after := self.following()) is not None and after.text.lower() in _BOOLEANS:
                self.at += 1
                self.refuse_value(option, after, word)
            else:
                self.set(option.name, not option.negative, word)
            return
        values = [] if inline is None else [inline]
        if inline is None:
            values = list(self.values(1 if takes != "several" else len(self.words)))
        if not values and takes is None:
            self.set(option.name, True, word)
        elif not values:
            self.refuse_nothing(option, word)
        elif option.name == KV_TRANSFER_CONFIG and (
            part := None if values[0].known else partly_known(values[0])
        ):
            self.set(option.name, part[0], word, values[0])
            self.unknown += part[1]
        elif any(not value.known for value in values):
            needs = tuple(dict.fromkeys(need for value in values for need in value.needs))
            text = " ".join(value.text for value in values)
            self.note_unknown(option.name, Word(text, word.origin, False, needs), word.origin)
        else:
            bare = [self.without_quotes(option, value) for value in values]
            texts = [typed(value.text) for value in bare]
            self.set(option.name, texts if takes == "several" else texts[0], word, bare[0])

    def without_quotes(self, option: Flag, value: Word) -> Word:
        """The value as it is meant, where quotes are part of it."""
        bare = self.unquoted(value)
        if bare is not value:
            self.findings.append(
                Finding(
                    "CLI009",
                    Severity.ERROR,
                    f"the quotes in `{shortened(value.text)}` are part of the value of "
                    f"`--{option.name}`",
                    "the program gets them: JSON and numbers in quotes are refused, and a name or "
                    "a path in quotes is another one",
                    "remove the quotes inside of the word",
                    value.origin,
                    _without_quotes(option, value, bare),
                )
            )
        return bare

    def take_level(self, word: Word, written: str, inline: Word | None) -> None:
        """``-O3``, ``-O=3``, ``-O 3`` and ``-O.key value``."""
        rest = word.text[2:].removeprefix("=")
        if written.startswith("-O."):
            self.take_dotted("compilation-config", written[3:], word, inline)
        elif rest:
            self.set(_OPTIMIZATION, typed(rest), word)
        elif (after := self.following()) is not None:
            self.at += 1
            self.set(_OPTIMIZATION, typed(after.text), word)

    def take_dotted(self, name: str, keys: str, word: Word, inline: Word | None) -> None:
        value = inline
        if value is None and self.at < len(self.words):
            value = self.words[self.at]
            self.at += 1
        if value is None:
            self.refuse_nothing(Flag(f"{name}.{keys}", "one"), word)
            return
        if not (word.known and value.known):
            self.note_unknown(name, value, word.origin)
            return
        content: Json = _json(value.text)
        if keys.endswith("+"):
            keys, content = keys[:-1], list[Json](value.text.split(","))
        for key in reversed(keys.split(".")):
            content = {key: content}
        _origin, collected = self.dotted.setdefault(name, (word.origin, {}))
        if isinstance(content, dict):
            _update(collected, content)

    def merged(self) -> Iterator[Setting]:
        """The dotted options, which vLLM adds as JSON behind all others."""
        for name, (origin, value) in self.dotted.items():
            yield Setting(name, value, origin)

    def following(self) -> Word | None:
        """The next word, if it is no option."""
        if self.at == len(self.words) or _is_option(self.words[self.at]):
            return None
        return self.words[self.at]

    def values(self, most: int) -> Iterator[Word]:
        while most and (word := self.following()) is not None:
            self.at += 1
            most -= 1
            yield word

    def set(self, name: str, value: Json, word: Word, written: Word | None = None) -> None:
        places: tuple[tuple[str, Origin], ...] = ()
        if written is not None and name == KV_TRANSFER_CONFIG:
            places = json_places(written.text, written.places)
        self.settings.append(Setting(name, value, word.origin, places))

    def note_unknown(self, name: str | None, word: Word, origin: Origin) -> None:
        self.unknown.append(Unknown(self.area, name, word.text, origin, word.needs))

    def refused(self) -> str:
        """What follows of arguments that the program's parser does not take."""
        whose = "LMCache's" if self.area is Area.LMCACHE_SERVER else "vLLM's"
        return f"{whose} parser refuses the command line"

    def refuse_value(self, option: Flag, value: Word, word: Word) -> None:
        self.set(option.name, not option.negative, word)
        no = "no-" if option.negative else ""
        negated = value.text.lower() in _FALSE
        opposite = f"--{option.name}" if option.negative else f"--no-{option.name}"
        right = opposite if negated else f"--{no}{option.name}"
        fix = f"write `{opposite}`" if negated else f"write `{right}` by itself"
        inline = "=" in word.text
        written = word.text if inline else f"{word.text} {value.text}"
        behind = replace(word.origin, column=(word.origin.column or 0) + len(word.text) + 1)
        # As an item of a list the value stands elsewhere.
        together = inline or value.origin == behind
        self.findings.append(
            Finding(
                "CLI003",
                Severity.ERROR,
                f"`--{no}{option.name}` takes no value, and `{shortened(value.text)}` is given",
                self.refused(),
                fix,
                value.origin,
                edit_at(word.origin, written, right) if together else None,
            )
        )

    def refuse_nothing(self, option: Flag, word: Word) -> None:
        self.findings.append(
            Finding(
                "CLI004",
                Severity.ERROR,
                f"`--{option.name}` stands without a value",
                self.refused(),
                f"write a value behind `--{option.name}`, or remove it",
                word.origin,
            )
        )

    def warn_of_short_form(self, word: Word, written: str, option: Flag) -> None:
        whole = f"--{'no-' if option.negative else ''}{option.name}"
        self.findings.append(
            Finding(
                "CLI005",
                Severity.WARNING,
                f"`{shortened(written)}` is short for `{whole}`",
                "it works only as long as no other option begins with the same letters, "
                "and another version may have one",
                f"write `{whole}`",
                word.origin,
                edit_at(
                    word.origin,
                    written.partition(".")[0].removeprefix("--"),
                    whole.removeprefix("--"),
                    change=Change.OPTION,
                ),
            )
        )


_FALSE = frozenset({"false", "no", "off", "0"})
_BOOLEANS = _FALSE | {"true", "yes", "on", "1"}


def _without_quotes(option: Flag, value: Word, bare: Word) -> Edit | None:
    """The value without its quotes; None for one that nobody should see."""
    if _SECRET.search(option.name) or "\n" in value.text or value.places is None:
        return None
    place = value.places.certain(0)
    return None if place is None else edit_at(place, value.text, bare.text)


def _is_option(word: Word) -> bool:
    return word.text.startswith("-") and word.text != "-" and not _NUMBER.match(word.text)


def _json(text: str) -> Json:
    """The value behind a dotted option, as vLLM reads it: JSON, 80g, or the text."""
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    if (match := _SUFFIXED.fullmatch(text.strip())) is not None:
        number, suffix = match.groups()
        if suffix in _DECIMAL:
            return int(float(number) * _DECIMAL[suffix])
        if "." not in number:
            return int(number) * _BINARY[suffix]
    return text


def _update(original: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        if isinstance(value, dict) and isinstance(original.get(key), dict):
            _update(original[key], value)
        elif isinstance(value, list) and isinstance(original.get(key), list):
            original[key] = original[key] + value
        else:
            original[key] = value
