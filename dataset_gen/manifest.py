"""The ground truth as a Parquet file: one row for every item that has to be found, at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import ExceptionCode, UsageError
from core.ids import number
from core.names import display_name, unsafe_name
from core.records import Kind, Limits
from dataset_gen.made import Truth

FILE_NAME = "manifest.parquet"

CUSTODIAN = "custodian"
CONTAINER_PATH = "container_path"  # display names; the first is the loose file's path relative to DIR/data
NAME = "name"  # bytes
ORDINAL = "ordinal"  # bytes, as core.ids
KIND = "kind"
CONTAINER = "container"
MEDIA_TYPE = "media_type"
BYTES = "bytes"
SHA256 = "sha256"
PARENT = "parent"  # row number; -1 for loose files
FAMILY = "family"  # row number of the topmost non-container item; -1 for containers outside any family
DEPTH = "depth"  # 0 for loose files
PAGES = "pages"  # null where the format does not know
DUPLICATE_GROUP = "duplicate_group"  # row number of the first item with the same bytes; null when there is one only
TERMS = "terms"  # planted tokens and phrases that a search has to find in it
FAULT = "fault"  # kind of fault; null for sound items
EXCEPTIONS = "exceptions"  # codes
ANNOUNCED = "announced"  # containers: children announced; null where the format does not
FAILED = "failed"  # containers: children expected less children that have a row; null for others and unopened ones
CONTENT = "content"  # hash over what it says, whatever compressor packed it

SCHEMA = pa.schema(
    [
        (CUSTODIAN, pa.string()),
        (CONTAINER_PATH, pa.list_(pa.string())),
        (NAME, pa.binary()),
        (ORDINAL, pa.binary()),
        (KIND, pa.string()),
        (CONTAINER, pa.bool_()),
        (MEDIA_TYPE, pa.string()),
        (BYTES, pa.int64()),
        (SHA256, pa.binary()),
        (PARENT, pa.int64()),
        (FAMILY, pa.int64()),
        (DEPTH, pa.int16()),
        (PAGES, pa.int32()),
        (DUPLICATE_GROUP, pa.int64()),
        (TERMS, pa.list_(pa.string())),
        (FAULT, pa.string()),
        (EXCEPTIONS, pa.list_(pa.string())),
        (ANNOUNCED, pa.int64()),
        (FAILED, pa.int64()),
        (CONTENT, pa.binary()),
    ]
)

Row = dict[str, Any]


def rows_of(path: bytes, truth: Truth, first: int, depth_limit: int = Limits().depth) -> list[Row]:
    """The rows of one loose file and all beneath it, in order of position; `first` is the first one's number.

    An item at `depth_limit` is not opened: its children have no rows and it gets `nesting_limit`.
    """
    out: list[Row] = []
    custodian = display_name(path.partition(b"/")[0])

    def add(name: bytes, ordinal: bytes, kind: Kind, truth: Truth, parent: int, family: int, above: list[str]) -> None:
        depth = len(above)
        own = first + len(out)
        if family < 0 and not truth.container:
            family = own
        exceptions = list(truth.exceptions)
        shut = depth >= depth_limit and bool(truth.children)
        if shut:
            exceptions.append(ExceptionCode.NESTING_LIMIT.value)
        if truth.size == 0:
            exceptions.append(ExceptionCode.ZERO_BYTES.value)
        if depth and unsafe_name(name):
            exceptions.append(ExceptionCode.UNSAFE_NAME.value)
        shown = [*above, display_name(name if depth else path)]
        out.append(
            {
                CUSTODIAN: custodian,
                CONTAINER_PATH: shown,
                NAME: name,
                ORDINAL: ordinal,
                KIND: kind.value,
                CONTAINER: truth.container,
                MEDIA_TYPE: truth.media_type,
                BYTES: truth.size,
                SHA256: truth.sha256,
                PARENT: parent,
                FAMILY: family,
                DEPTH: depth,
                PAGES: truth.pages,
                DUPLICATE_GROUP: None,
                TERMS: list(truth.terms),
                FAULT: truth.fault,
                EXCEPTIONS: exceptions,
                ANNOUNCED: None if shut else truth.announced,
                FAILED: None if shut else truth.failed,
                CONTENT: truth.content,
            }
        )
        for child in () if shut else truth.children:
            add(child.name, number(child.ordinal), child.kind, child.truth, own, family, shown)

    add(path.rpartition(b"/")[2], path, Kind.LOOSE_FILE, truth, -1, -1, [])
    return out


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Rows as Arrow."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def _shifted(column: Any, by: int) -> Any:
    return pa.array([v + by if v >= 0 else v for v in column.to_pylist()], pa.int64())


def joined(parts: Iterable[pa.Table]) -> pa.Table:
    """Parts whose row numbers start at 0 each, as one table with duplicate groups."""
    tables = []
    count = 0
    for part in parts:
        for name in (PARENT, FAMILY):
            at = SCHEMA.get_field_index(name)
            part = part.set_column(at, SCHEMA.field(at), _shifted(part[name], count))
        tables.append(part)
        count += part.num_rows
    table = pa.concat_tables(tables) if tables else table_of([])
    at = SCHEMA.get_field_index(DUPLICATE_GROUP)
    hashes: Any = table[SHA256].to_pylist()
    sizes: Any = table[BYTES].to_pylist()
    groups = duplicate_groups(hashes, sizes)
    return table.set_column(at, SCHEMA.field(at), pa.array(groups, pa.int64()))


def duplicate_groups(hashes: list[bytes], sizes: list[int]) -> list[int | None]:
    """For each row the number of the first row with the same bytes; None where it is alone or has no bytes."""
    first: dict[bytes, int] = {}
    again: set[int] = set()
    out: list[int | None] = []
    for row, (digest, size) in enumerate(zip(hashes, sizes, strict=True)):
        if size == 0:
            out.append(None)
            continue
        group = first.setdefault(digest, row)
        if group != row:
            again.add(group)
        out.append(group)
    return [g if g in again else None for g in out]


def write_manifest(table: pa.Table, path: Path) -> None:
    """Write the Parquet file; `path` is complete or not there."""
    partial = path.with_name(path.name + ".partial")
    pq.write_table(table, partial, compression="zstd", compression_level=3, row_group_size=100_000)
    partial.rename(path)


def read_manifest(path: Path) -> pa.Table:
    """The manifest of a corpus, given its file or the corpus's directory; raises UsageError when it is none."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{file} is not a manifest that can be read: {error}") from error
    if missing := [name for name in SCHEMA.names if name not in table.column_names]:
        raise UsageError(f"{file} is not a manifest of edbench: it has no column {missing[0]}")
    return table


def iterate(table: pa.Table) -> Iterator[Row]:
    """Rows as dictionaries, batch by batch."""
    for batch in table.to_batches(max_chunksize=20_000):
        yield from batch.to_pylist()
