"""``docker run``, ``podman run`` and ``nerdctl run``: options in, the container's process out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hmactl.deployment.files import TextFile
from hmactl.deployment.setting import Area, Origin, Unknown
from hmactl.sources.container.env_files import docker_env_file
from hmactl.sources.container.gpus import devices, gpus_option
from hmactl.sources.container.mounts import Mount, mounted_files
from hmactl.sources.container.run_options import SHORT, SWITCHES, VALUED
from hmactl.sources.container.sizes import DEFAULT_SHM, container_size, lock_limit
from hmactl.sources.container.start import container_start
from hmactl.sources.given import ReadFile
from hmactl.sources.image import versions
from hmactl.sources.process.part import part
from hmactl.sources.process.process import Process
from hmactl.sources.process.word import Variable, Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_HERE = re.compile(r"(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|\.)/+")
_FEWEST, _MOST = 2, 3


def docker_run(
    words: tuple[Word, ...], started: Process, read_file: ReadFile = lambda _path: None
) -> Process | None:
    """What the container of ``docker run WORDS...`` starts; None where no image can be found.

    ``started`` is the process that runs the command: its variables reach the container only by
    ``-e NAME``, and its files by ``--volume`` and ``--env-file``. A path that is none of them is
    read by ``read_file``.
    """
    reading = _Reading(words)
    reading.run()
    image = reading.image
    if image is None:
        return None
    run = _Run(reading.options, started, read_file)
    arguments = words[reading.at :]
    argv, findings = container_start(image, run.entrypoint(), arguments)
    environment = tuple(run.environment())
    vllm, lmcache = versions(image.text) if image.known else (None, None)
    texts = [*(w.text for w in argv), *(v.value.text for v in environment)]
    return Process(
        source=started.source,
        form=started.form,
        name=run.name(),
        argv=argv,
        environment=environment,
        unknown=(*run.unknown, *(_anything(word) for word in reading.unknown)),
        files=mounted_files(run.mounts(), texts, run.read),
        target=replace(
            started.target,
            gpus=run.gpus(),
            memory_limit=run.size("memory"),
            shm=run.shm(),
            memlock=run.memlock(),
            vllm=vllm,
            lmcache=lmcache,
        ),
        findings=(*started.findings, *findings),
    )


@dataclass(slots=True)
class _Reading:
    """The options up to the image; behind it, at ``at``, the container's arguments begin."""

    words: tuple[Word, ...]
    at: int = 0
    image: Word | None = None
    options: list[tuple[str, Word]] = field(default_factory=list)
    unknown: list[Word] = field(default_factory=list)

    def run(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word.text == "--":
                if self.at < len(self.words):
                    self.image, self.at = self.words[self.at], self.at + 1
                return
            if word.text.startswith("--"):
                self.take_long(word)
            elif word.text.startswith("-") and len(word.text) > 1:
                self.take_short(word)
            elif self.is_options(word):
                self.unknown.append(word)
            else:
                self.image = word
                return

    def take_long(self, word: Word) -> None:
        written, equals, _ = word.text.partition("=")
        name = written.removeprefix("--")
        if equals:
            self.options.append((name, part(word, len(written) + 1)))
        elif name in SWITCHES:
            self.options.append((name, word))
        elif name in VALUED or not self.next_is_option():
            self.take_value(name)

    def take_short(self, word: Word) -> None:
        """``-it``, ``-e A=b``, ``-eA=b`` and ``-e=A=b``."""
        for index in range(1, len(word.text)):
            name = SHORT.get(word.text[index])
            if name is None:
                return
            if name in SWITCHES:
                self.options.append((name, word))
                continue
            rest = index + 1
            if rest == len(word.text):
                self.take_value(name)
            else:
                rest += word.text[rest] == "="
                self.options.append((name, part(word, rest)))
            return

    def take_value(self, name: str) -> None:
        if self.at < len(self.words):
            self.options.append((name, self.words[self.at]))
            self.at += 1

    def next_is_option(self) -> bool:
        return self.at < len(self.words) and self.words[self.at].text.startswith("-")

    def is_options(self, word: Word) -> bool:
        """Whether an unquoted variable stands for further options, not for the image."""
        if word.known or not word.several or self.at == len(self.words):
            return False
        if any("image" in need.lower() for need in word.needs):
            return False
        following = self.words[self.at]
        name = following.text.partition("=")[0]
        if name.startswith("--"):
            return name[2:] in SWITCHES | VALUED
        if name.startswith("-"):
            return SHORT.get(name[1:2]) is not None
        return following.known is False or ":" in following.text or "/" in following.text


@dataclass(slots=True)
class _Run:
    """What the options come to."""

    options: list[tuple[str, Word]]
    started: Process
    read_file: ReadFile
    unknown: list[Unknown] = field(default_factory=list)

    def values(self, *names: str) -> list[Word]:
        return [value for name, value in self.options if name in names]

    def last(self, *names: str) -> Word | None:
        return next(reversed(self.values(*names)), None)

    def name(self) -> str:
        name = self.last("name")
        return name.text if name is not None and name.known else self.started.name

    def entrypoint(self) -> tuple[Word, ...] | None:
        """None leaves the image's own; an empty one removes it."""
        word = self.last("entrypoint")
        if word is None:
            return None
        return () if word.known and not word.text else (word,)

    def environment(self) -> Iterator[Variable]:
        """The files' variables, then those of ``-e``, whatever their order."""
        for word in self.values("env-file"):
            file = self.read(word.text) if word.known else None
            if file is None:
                unknown = Unknown(Area.ENV, None, f"--env-file {word.text}", word.origin)
                self.unknown.append(replace(unknown, needs=word.needs))
            else:
                yield from docker_env_file(file, self.inherited)
        for word in self.values("env"):
            name = word.text.partition("=")[0]
            if _NAME.fullmatch(name) is None:
                if not word.known:
                    self.unknown.append(_anything(word))
            elif "=" in word.text:
                yield Variable(name, part(word, len(name) + 1), word.origin)
            elif (variable := self.inherited(name, word.origin)) is not None:
                yield variable

    def inherited(self, name: str, origin: Origin) -> Variable | None:
        """A name without a value: that of the process that runs the command."""
        found = next((v for v in reversed(self.started.environment) if v.name == name), None)
        return found or Variable(name, Word(f"${name}", origin, False, (name,)), origin)

    def mounts(self) -> Iterator[Mount]:
        for word in self.values("volume"):
            fields = word.text.split(":")
            if _FEWEST <= len(fields) <= _MOST and fields[0] and fields[1]:
                yield Mount(fields[0], fields[1])
        for word in self.values("mount"):
            keys = dict(_pair(field) for field in word.text.split(","))
            source = keys.get("source") or keys.get("src")
            target = keys.get("target") or keys.get("destination") or keys.get("dst")
            if source and target and keys.get("type", "bind") == "bind":
                yield Mount(source, target)

    def read(self, path: str) -> TextFile | None:
        """A file where the command runs: one that is known of there, or one that can be read."""
        here = _HERE.sub("", path, count=1) if _HERE.match(path) else path
        if "$" in here:
            return None
        known = (f for f in self.started.files if f.path in {path, here, f"./{here}"})
        return next(known, None) or self.read_file(here)

    def gpus(self) -> int | None:
        if (word := self.last("gpus")) is not None:
            return gpus_option(word)
        return devices(self.values("device"))

    def size(self, name: str) -> int | None:
        word = self.last(name)
        return container_size(word.text) if word is not None and word.known else None

    def shm(self) -> int | None:
        """None where /dev/shm is the host's or another container's, or its size is not known."""
        ipc = self.last("ipc")
        if ipc is not None and (not ipc.known or ipc.text not in {"private", "shareable", ""}):
            return None
        if any("/dev/shm" in word.text for word in self.values("volume", "mount", "tmpfs")):  # noqa: S108
            return None
        return DEFAULT_SHM if self.last("shm-size") is None else self.size("shm-size")

    def memlock(self) -> int | None:
        for word in reversed(self.values("ulimit")):
            if word.text.startswith("memlock=") and word.known:
                return lock_limit(word.text.removeprefix("memlock="))
        return None


def _anything(word: Word) -> Unknown:
    return Unknown(Area.ENV, None, word.text, word.origin, word.needs)


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value
