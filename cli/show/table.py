"""The plain table that commands print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.markup import escape
from rich.table import Table


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[int] = (), whole: Sequence[int] = ()
) -> Table:
    """A plain table; `right` are columns of numbers, `whole` columns that are never broken up.

    Values are shown as they are, without markup.
    """
    out = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(columns):
        justify: JustifyMethod = "right" if number in right else "left"
        out.add_column(name, justify=justify, overflow="fold", no_wrap=number in right or number in whole)
    for row in rows:
        out.add_row(*(escape(f"{value:,}" if isinstance(value, int) else str(value)) for value in row))
    return out
