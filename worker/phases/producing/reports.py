"""What a job that produces tells of its items at its end: files about all of them, each written along with the others, so
that the rows are read once."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from core.csv_cells import BEGINS_FORMULA, defused
from core.records import FINALISE_REST, FINALISE_TABLES
from production.loadfiles.fields import COLUMNS
from worker.phases.producing.records import Record
from worker.phases.task import TaskWork

_HASHES = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")


class Report:
    """One file about all items of a job, told some at a time in the order of their numbers."""

    path: ClassVar[str]  # in the output directory
    share: ClassVar[str] = FINALISE_TABLES  # whose task of phase finalise writes it

    def __init__(self, work: TaskWork) -> None:
        self.work = work

    def head(self) -> bytes:
        """What it begins with."""
        return b""

    def some(self, records: Sequence[Record]) -> bytes:
        """What it says of these."""
        raise NotImplementedError

    def tail(self) -> Iterator[bytes]:
        """What it ends with, in pieces."""
        return iter(())

    def close(self) -> None:
        """Let go of what it held."""


class MetadataLines(Report):
    """An object a line, with all metadata that was found."""

    path = "metadata.jsonl"
    share = FINALISE_REST

    def some(self, records: Sequence[Record]) -> bytes:
        lines = (record.fields | {"metadata": record.row.metadata or {}} for record in records)
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        return text.encode("utf-8", "replace")


class MetadataTable(Report):
    """The same as CSV, without what has no column."""

    path = "metadata.csv"

    def head(self) -> bytes:
        return table_head(COLUMNS)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(record.texts for record in records)


class HashTable(Report):
    """Every file of an item."""

    path = "hashes.csv"

    def head(self) -> bytes:
        return table_head(_HASHES)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(row for record in records for row in _hashes(record))


def _hashes(record: Record) -> Iterable[Sequence[str]]:
    begin = record.fields["begin"]
    return [
        (file.path, str(file.bytes), file.md5.hex(), file.sha256.hex(), begin, file.kind, str(file.page))
        for file in record.files
    ]


def table_head(columns: Sequence[str]) -> bytes:
    """The first line of a CSV."""
    return _csv((columns,))


def table(rows: Iterable[Sequence[str]]) -> bytes:
    """Lines of a CSV in UTF-8, ended as RFC 4180 has it. No cell is a formula."""
    # Hardly any row would have one: rows are looked at as a whole, since there are forty cells an item.
    safe = BEGINS_FORMULA.isdisjoint
    return _csv(row if safe([cell[:1] for cell in row]) else [*map(defused, row)] for row in rows)


# What has a cell put in quotes. Most rows have none, and need no writer that looks at each cell.
_QUOTED = re.compile('[",\r\n]')


class _Lines(list[str]):
    write = list.append


def _csv(rows: Iterable[Sequence[str]]) -> bytes:
    lines = _Lines()
    quoting = csv.writer(lines).writerow
    for row in rows:
        if len(row) > 1 and _QUOTED.search("".join(row)) is None:
            lines.append(",".join(row) + "\r\n")
        else:
            quoting(row)
    return "".join(lines).encode("utf-8", "replace")
