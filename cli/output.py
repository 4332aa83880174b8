"""Printing results: JSON documents, CSV and JSON lines, the plain table, sizes and times as text."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.csv_cells import csv_lines, flat, iso
from core.histogram import LIMIT_NS

_PATIENCE_SECONDS = 5.0  # a filer under load takes a second or two
_LEAST_WIDTH = 8  # of a column that may be wrapped
_MOST_FILES = 4_096  # open descriptors of a command at this point


def await_answer(
    *directories: Path,
    waits: str = "",
    look: Callable[[Path], object] = os.statvfs,
    patience: float = _PATIENCE_SECONDS,
) -> None:
    """Wait until the storage of each directory answers, even with an error; print a line when that takes long, and
    another when it answers. `waits`: a prefix of that line; `look` calls the storage: the kernel caches nothing of
    `statvfs`."""
    for directory in dict.fromkeys(directories):
        child, ended = _looking(directory, look)
        try:
            if not _within(ended, patience):
                _say(
                    f"{waits}the storage at {directory} has not answered for {patience:g} s; check its server. "
                    "Waiting; Ctrl-C exits"
                )
                _within(ended, None)
                _say(f"the storage at {directory} answers")
            os.waitpid(child, 0)  # it is ending; one that blocks is left to init
        finally:
            os.close(ended)


def _looking(directory: Path, look: Callable[[Path], object]) -> tuple[int, int]:
    """Start a child that calls the storage; return it and a descriptor that is closed when the child ends."""
    ended, held = os.pipe()
    child = os.fork()
    if child == 0:
        _look_and_go(directory, look, held)
    os.close(held)
    return child, ended


def _look_and_go(directory: Path, look: Callable[[Path], object], held: int) -> None:
    """Call the storage in the child. It first closes every descriptor that another process may wait on, because it may
    block for long."""
    try:
        os.closerange(0, held)
        os.closerange(held + 1, _MOST_FILES)
        look(directory)
    finally:
        os._exit(0)  # whatever the storage answered


def _within(ended: int, seconds: float | None) -> bool:
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else seconds * 1e3))


def _say(line: str) -> None:
    print(f"edbench: {line}", file=sys.stderr, flush=True)


if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from experiments.report.parts import Column

R = TypeVar("R")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def print_document(value: Any, output: str, fields: Sequence[str] = (), *, raw: bool = False) -> None:
    """Print a record or records on standard output. `output` is json: one document; jsonl: a line for each record; csv:
    a row for each record, or the name and the value of each field of the one record.

    Records of an iterator are printed as they come; as CSV they need their `fields`."""
    plain = _plain(value)
    if output == "json" and isinstance(plain, dict):
        _line(plain, indent=2)
    elif output == "json":
        print("[")
        for number, row in enumerate(map(_plain, plain)):
            print(",\n" if number else "", end="")
            print(json.dumps(row, ensure_ascii=False, default=_text), end="")
        print("\n]")
    elif output == "jsonl":
        for row in [plain] if isinstance(plain, dict) else map(_plain, plain):
            _line(row)
    else:
        rows = ({"name": k, "value": v} for k, v in flat(plain)) if isinstance(plain, dict) else map(_plain, plain)
        sys.stdout.writelines(csv_lines(rows, ("name", "value") if isinstance(plain, dict) else fields, raw=raw))


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def _text(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


def _line(value: Any, indent: int | None = None) -> None:
    print(json.dumps(value, indent=indent, ensure_ascii=False, default=_text))


def harmless(text: str) -> str:
    """Text of evidence for a terminal: control characters become U+FFFD; line ends and tabs stay."""
    return _CONTROLS.sub("\ufffd", text)


def bytes_text(nbytes: int) -> str:
    """A size such as `12.3 MB`; decimal units."""
    value = float(nbytes)
    for unit in _UNITS:
        if value < 999.95 or unit == _UNITS[-1]:
            return f"{nbytes} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("the last unit takes everything")


def micros_text(value: float) -> str:
    """Whole microseconds of a percentile; `> 8,796,093,022` if it is at least that."""
    return f"> {LIMIT_NS // 1000:,}" if value >= LIMIT_NS / 1000 else f"{value:,.0f}"


def flush() -> None:
    """Write standard output now, so that a closed pipe is noticed here."""
    sys.stdout.flush()


def print_lines(console: Console, *lines: str) -> None:
    """Print each line unchanged, however long."""
    for line in lines:
        console.print(line, soft_wrap=True)


def column_table(columns: Sequence[Column[R]], rows: Iterable[R]) -> Table:
    """The table of a report on the console."""
    shown = [column for column in columns if column.title is not None]
    right = [number for number, column in enumerate(shown) if not column.text]
    return table(
        [str(column.title) for column in shown], [[column.line(row) for column in shown] for row in rows], right=right
    )


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Table:
    """A plain table; `right` are columns of numbers, `whole` columns that are never wrapped. On a terminal that is too
    narrow for those, each row is a block of lines `title  value`.

    Values are shown as they are, without markup. Raises ValueError for a row with more cells than columns."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Column as RichColumn
    from rich.table import Table
    from rich.text import Text

    class Fitting(Table):
        """A table that cuts no number: rich would."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            cells = [[*column.cells] for column in self.columns]
            widths = (
                max(cell_len(str(cell)) if column.no_wrap else _LEAST_WIDTH for cell in (column.header, *values))
                for column, values in zip(self.columns, cells, strict=True)
            )
            if not self.rows or sum(widths) + 3 * (len(cells) - 1) <= options.max_width:
                yield from super().__rich_console__(console, options)
                return
            for row in zip(*cells, strict=True):
                block = Table.grid("", RichColumn(overflow="fold"), padding=(0, 2))
                for column, cell in zip(self.columns, row, strict=True):
                    if str(cell):
                        block.add_row(Text(str(column.header), style="bold"), cell)
                yield block
                yield ""
            yield Text(str(self.caption or ""), style="dim")

    out = Fitting(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(columns):
        numeric = number in right
        out.add_column(
            name, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric or number in whole
        )
    for row in rows:
        if len(row) > len(columns):  # rich would add columns without a title
            raise ValueError(f"{len(row)} cells for {len(columns)} titles")
        out.add_row(*(Text(f"{value:,}" if isinstance(value, int) else str(value)) for value in row))
    return out
