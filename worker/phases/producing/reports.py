"""What an extraction tells of its items at its end, and the hashes of whatever was written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from core.csv_cells import defused
from core.options.production import FileKind
from worker.phases.producing.records import Record, control_of, records
from worker.phases.task import TaskWork

_GATHERED = 256  # lines that go to the filer together
_COLUMNS = (
    "begin", "end", "begin_family", "end_family", "parent", "custodian", "all_custodians", "path", "name", "kind",
    "media_type", "bytes", "sha256", "md5", "message_id_hash", "modified", "from", "to", "cc", "subject", "date",
    "title", "author", "pages", "found_pages", "text_state", "native", "text", "exceptions",
)  # fmt: skip


def fields(work: TaskWork, record: Record) -> dict[str, Any]:
    """Everything about one item, by column."""
    row, metadata = record.row, dict(record.row.metadata or {})
    native, text = record.file(FileKind.NATIVE), record.file(FileKind.TEXT)
    named = {name: metadata.get(name) for name in ("from", "to", "cc", "subject", "date", "title", "author")}
    return control_of(work, record) | {
        "custodian": row.custodian,
        "all_custodians": row.custodians or [row.custodian],
        "path": row.container_path,
        "name": row.container_path[-1].rpartition("/")[2],
        "kind": row.kind,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": None if row.sha256 is None else bytes(row.sha256).hex(),
        "md5": None if native is None else bytes(native.md5).hex(),
        "message_id_hash": None if row.message_id_hash is None else bytes(row.message_id_hash).hex(),
        "modified": None if row.mtime_ns is None else _moment(row.mtime_ns),
        **named,
        "pages": row.pages,
        "found_pages": row.found_pages,
        "text_state": row.text_state,
        "native": None if native is None else native.path,
        "text": None if text is None else text.path,
        "exceptions": row.codes or [],
    }


def _moment(ns: int) -> str | None:
    try:
        return datetime.fromtimestamp(ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # a file system may hold any number
        return None


def metadata_lines(work: TaskWork) -> Iterator[bytes]:
    """An object a line, with all metadata that was found."""
    for record in records(work):
        told = fields(work, record) | {"metadata": record.row.metadata or {}}
        yield json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def metadata_table(work: TaskWork) -> Iterator[bytes]:
    """The same as CSV, without what has no column."""
    return table(_COLUMNS, (fields(work, record) for record in records(work)))


def hash_table(work: TaskWork) -> Iterator[bytes]:
    """Every file of an item."""
    columns = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")
    return table(columns, (row for record in records(work) for row in _hashes(work, record)))


def _hashes(work: TaskWork, record: Record) -> Iterable[dict[str, Any]]:
    begin = control_of(work, record)["begin"]
    for file in record.files:
        hashes = {"md5": bytes(file.md5).hex(), "sha256": bytes(file.sha256).hex()}
        yield {"path": file.path, "bytes": file.bytes, **hashes, "begin": begin, "kind": file.kind, "page": file.page}


def table(columns: tuple[str, ...], rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """CSV in UTF-8 with a head, lines ended as RFC 4180 has it; a list is joined by "; "."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
        if text.tell() > _GATHERED * 256:
            yield _taken(text)
    yield _taken(text)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return defused("; ".join(map(str, value)))
    return defused(str(value))


def _taken(text: io.StringIO) -> bytes:
    data = text.getvalue().encode("utf-8", "replace")
    text.seek(0)
    text.truncate()
    return data


Report = tuple[str, Callable[[TaskWork], Iterator[bytes]]]
METADATA: tuple[Report, ...] = (("metadata.jsonl", metadata_lines), ("metadata.csv", metadata_table))
HASHES: Report = ("hashes.csv", hash_table)
