"""``hmactl lint --fix`` and ``--diff``: edits made, or shown."""

from collections.abc import Sequence
from pathlib import Path

import click

from hmactl.finding import Change, Edit
from hmactl.fix.apply import apply_edits, as_diff, fix_file
from hmactl.fix.replace_file import ChangedError
from hmactl.lint_files import FileResult
from hmactl.report.redact import redact

Edits = Sequence[tuple[FileResult, tuple[Edit, ...]]]


def show(edits: Edits) -> str:
    """What would change, as a diff."""
    return "".join(
        as_diff(result.source, result.text, apply_edits(result.text, changes).text)
        for result, changes in edits
        if result.text is not None
    )


def fix(edits: Edits) -> None:
    """Change the files, and say what was changed and what was not."""
    for result, changes in edits:
        if result.text is None or not Path(result.source).is_file():
            continue
        try:
            applied = fix_file(Path(result.source), result.text, changes)
        except ChangedError:
            click.echo(f"hmactl: {result.source} was changed meanwhile: not fixed", err=True)
            continue
        except OSError as error:
            click.echo(f"hmactl: {result.source} is not fixed: {error.strerror}", err=True)
            continue
        for edit in applied.made:
            click.echo(f"hmactl: {edit.source}:{edit.line}: {_told(edit)}", err=True)
        for refused in applied.refused:
            place = f"{refused.edit.source}:{refused.edit.line}"
            click.echo(f"hmactl: {place}: not fixed: {refused.why}", err=True)


def _told(edit: Edit) -> str:
    match edit.change:
        case Change.ADD:
            return f"`{edit.new}` is there now"
        case Change.DROP:
            return f"`--{edit.old}` is gone"
    return redact(f"`{edit.old}` is now `{edit.new}`")
