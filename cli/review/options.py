"""Options and arguments that these commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from core.errors import UsageError

JobArguments = Annotated[
    list[str],
    typer.Argument(metavar="JOB…", help="ids of jobs or groups, unambiguous beginnings of them, or `last`"),
]
AsCsv = Annotated[bool, typer.Option("--csv", help="print every row as CSV with a header")]
CsvRaw = Annotated[bool, typer.Option("--csv-raw", help="the same, formulas and all")]
AsJsonl = Annotated[bool, typer.Option("--jsonl", help="print every row as one JSON object a line")]


@dataclass(frozen=True, slots=True)
class Detail:
    """How every row is to be printed, if at all."""

    jsonl: bool
    csv: bool
    raw: bool

    @property
    def wanted(self) -> bool:
        """Whether rows are to be printed."""
        return self.jsonl or self.csv


def detail(as_jsonl: bool, as_csv: bool, csv_raw: bool) -> Detail:
    """Raises UsageError when more than one way is asked for."""
    if as_jsonl + as_csv + csv_raw > 1:
        raise UsageError("--jsonl, --csv and --csv-raw exclude each other; give one")
    return Detail(as_jsonl, as_csv or csv_raw, csv_raw)
