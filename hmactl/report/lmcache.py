"""LMCache's effective settings in the report."""

import json
from collections.abc import Iterator
from typing import Any

from hmactl.facts.facts import Facts
from hmactl.facts.lmcache import IN_PROCESS
from hmactl.facts.lmcache_places import Effective, Written, effective
from hmactl.report.model import LMCachePlace, LMCacheReport, LMCacheSettingReport
from hmactl.report.redact import HIDDEN, is_secret_name, redact

_LONGEST = 60


def lmcache_report(facts: Facts | None) -> LMCacheReport | None:
    """What LMCache in the vLLM process will be set to; None where no connector reads it."""
    if facts is None or facts.answer.lmcache is None or not _reads(facts):
        return None
    file = facts.lmcache_file
    return LMCacheReport(
        file=None if file is None else redact(file.path),
        file_read=file is not None and file.text is not None,
        settings=tuple(map(_setting, effective(facts))),
        warnings=tuple(line for line in facts.answer.warnings if line.logger == "lmcache"),
    )


def lmcache_lines(report: LMCacheReport) -> Iterator[str]:
    """The same as lines of text, in columns, without LMCache's own warnings."""
    rows = [[one.key, _short(one.value), _where(one)] for one in report.settings]
    if report.file is not None and not report.file_read:
        rows.append(["", "", f"{report.file} is not here: what it sets is not known"])
    if rows:
        yield ""
        head = ["LMCache", "value", "from"]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(2)]
        for key, value, where in [head, *rows]:
            yield f"  {key:<{widths[0]}}  {value:<{widths[1]}}  {where}".rstrip()


def _reads(facts: Facts) -> bool:
    connector = facts.answer.connector
    if connector is not None:
        return any(one.name in IN_PROCESS for one in connector.walk())
    written = facts.connector
    return written is not None and any(one.name in IN_PROCESS for one in written.walk())


def _setting(one: Effective) -> LMCacheSettingReport:
    return LMCacheSettingReport(
        key=one.key,
        value=_text(one.key, one.value),
        default=_text(one.key, one.default),
        written=None if one.written is None else _place(one.written),
        overrode=tuple(map(_place, one.overrode)),
    )


def _place(written: Written) -> LMCachePlace:
    origin = written.setting.origin
    return LMCachePlace(
        name=redact(written.setting.name),
        value=_text(written.key, written.setting.value),
        path=redact(origin.source),
        line=origin.line,
        column=origin.column,
    )


def _text(key: str, value: Any) -> str:
    return redact(json.dumps(_hidden(key, value), ensure_ascii=False))


def _hidden(name: str, value: Any) -> Any:
    """The value without what a secret's name announces, at any depth."""
    if isinstance(value, dict):
        return {key: _hidden(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(name, inner) for inner in value]
    return HIDDEN if is_secret_name(name) and value not in (None, "") else value


def _where(one: LMCacheSettingReport) -> str:
    if one.written is None:
        return "another setting"
    text = _at(one.written)
    before = [f"{_short(place.value)} ({_at(place)})" for place in one.overrode]
    return f"{text}, instead of {', '.join(before)}" if before else text


def _at(place: LMCachePlace) -> str:
    if place.line is None:
        return f"{place.name}, {place.path}"
    return f"{place.path}:{place.line}:{place.column or 1}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
