"""What a job that produces tells of its items at its end: files about all of them, each written along with the others, so
that the rows are read once."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from core.csv_cells import BEGINS_FORMULA, defused
from core.records import FINALISE_REST, FINALISE_TABLES
from worker.phases.producing.records import Record
from worker.phases.task import TaskWork

_COLUMNS = (
    "begin", "end", "begin_family", "end_family", "parent", "custodian", "all_custodians", "path", "name", "kind",
    "media_type", "bytes", "sha256", "md5", "message_id_hash", "modified", "from", "to", "cc", "bcc", "subject", "date",
    "title", "author", "pages", "found_pages", "text_state", "native", "text", "exceptions",
)  # fmt: skip
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
        return table_head(_COLUMNS)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(_COLUMNS, (record.fields for record in records))


class HashTable(Report):
    """Every file of an item."""

    path = "hashes.csv"

    def head(self) -> bytes:
        return table_head(_HASHES)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(_HASHES, (row for record in records for row in _hashes(record)))


def _hashes(record: Record) -> Iterable[Mapping[str, Any]]:
    begin = record.fields["begin"]
    for file in record.files:
        yield {
            "path": file.path,
            "bytes": str(file.bytes),
            "md5": file.md5.hex(),
            "sha256": file.sha256.hex(),
            "begin": begin,
            "kind": file.kind,
            "page": str(file.page),
        }


def table_head(columns: Sequence[str]) -> bytes:
    """The first line of a CSV."""
    return _csv((columns,))


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Lines of a CSV in UTF-8, ended as RFC 4180 has it; a list is joined by "; "."""
    begins = BEGINS_FORMULA  # most cells are text and need nothing: there are forty an item, and a call for each shows
    return _csv(
        [
            value if type(value) is str and value[:1] not in begins else _cell(value)
            for value in map(row.__getitem__, columns)
        ]
        for row in rows
    )


class _Lines(list[str]):
    write = list.append


def _csv(rows: Iterable[Sequence[str]]) -> bytes:
    lines = _Lines()
    csv.writer(lines).writerows(rows)
    return "".join(lines).encode("utf-8", "replace")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return defused("; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
