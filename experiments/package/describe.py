"""The operator's sheet put into a package: its report is written again, with it, and then its manifest."""

from __future__ import annotations

from pathlib import Path

from core.errors import RunFailed, UsageError
from experiments.package.check import check
from experiments.package.finish import finish
from experiments.report.sheet import FILE, parse_sheet
from experiments.result.codec import read_result


def describe(directory: Path, text: str, what: str = FILE) -> Path:
    """The report's path. A signature of before is removed: it is over another manifest. Raises UsageError for what is no
    sheet, which is named as `what`, and for a package that does not check, RunFailed."""
    parse_sheet(text, what)
    if differences := check(directory).differences:
        raise UsageError(f"{directory} fails its check, so nothing is added to it: {differences[0]}")
    try:
        (directory / FILE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"{directory / FILE} cannot be written: {error.strerror}") from error
    return finish(read_result(directory), directory)
