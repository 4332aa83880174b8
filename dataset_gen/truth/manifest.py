"""The ground truth as a Parquet file: one row for every item that has to be found, at any depth."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from core.errors import UsageError
from core.names import display_name, sibling_name, unsafe_name
from core.places import number
from core.records import Limits
from dataset_gen.made import Truth
from readers.errors import ExceptionCode
from readers.records import Kind, Siblings

_GROUP_ROWS = 20_000  # at least, in a row group: a footer of thousands of groups takes 100 MB
FILE_NAME = "manifest.parquet"

Row = dict[str, Any]

CUSTODIAN = "custodian"
CONTAINER_PATH = "container_path"  # display names; the first is the loose file's path relative to DIR/data
NAME = "name"  # bytes
ORDINAL = "ordinal"  # bytes, as core.places
KIND = "kind"
CONTAINER = "container"
MEDIA_TYPE = "media_type"
BYTES = "bytes"
SHA256 = "sha256"
PARENT = "parent"  # row number; -1 for loose files
FAMILY = "family"  # row number of the topmost non-container item; -1 for containers outside any family
DEPTH = "depth"  # 0 for loose files
PAGES = "pages"  # null where the format does not know
CHARACTERS = "characters"  # of its text, about; null where it has none
TEXT_STATES = (
    "text_states"  # that its text may be in; null: whatever it comes to. In others than `ok` terms may be missing
)
SYSTEM = "system"  # on the list of known software files
DUPLICATE_GROUP = "duplicate_group"  # row number of the first item with the same bytes; null when there is one only
TERMS = "terms"  # planted tokens and phrases that a search has to find in it
FAULT = "fault"  # kind of fault; null for sound items
EXCEPTIONS = "exceptions"  # codes
ANNOUNCED = "announced"  # containers: children announced; null where the format does not
FAILED = "failed"  # containers: children expected less children that have a row; null for others and unopened ones
CONTENT = "content"  # hash over its content, whatever compressor packed it
TEXT_OF = "text_of"  # loose documents: key of the one whose text it has, with a changed sentence here and there if near; else null
LANGUAGE = "language"  # of real text (profile languages), as ISO 639 or zh_Hans, zh_Hant; else null

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
        (CHARACTERS, pa.int64()),
        (DUPLICATE_GROUP, pa.int64()),
        (TERMS, pa.list_(pa.string())),
        (FAULT, pa.string()),
        (EXCEPTIONS, pa.list_(pa.string())),
        (ANNOUNCED, pa.int64()),
        (FAILED, pa.int64()),
        (CONTENT, pa.binary()),
        (SYSTEM, pa.bool_()),
        (TEXT_STATES, pa.list_(pa.string())),
        (TEXT_OF, pa.string()),
        (LANGUAGE, pa.string()),
    ]
)
_DEPTH_LIMIT = Limits().depth


def each_row(path: bytes, truth: Truth, first: int) -> Iterator[Row]:
    """Yield the rows of one loose file and all beneath it, in order of position; `first` is the first one's number.

    `SYSTEM` is set when the parts are joined, `TEXT_OF` and `LANGUAGE` by the caller that knows the file's order. An
    item at the depth limit of jobs is not opened: its children have no rows and it gets `nesting_limit`."""
    numbers = itertools.count(first)
    custodian = display_name(path.partition(b"/")[0])

    def add(
        name: bytes, shown: str, ordinal: bytes, kind: Kind, truth: Truth, parent: int, family: int, above: list[str]
    ) -> Iterator[Row]:
        depth = len(above)
        own = next(numbers)
        if family < 0 and not truth.container:
            family = own
        exceptions = list(truth.exceptions)
        shut = depth >= _DEPTH_LIMIT and bool(truth.children)
        if shut:
            exceptions.append(ExceptionCode.NESTING_LIMIT.value)
        if truth.size == 0:
            exceptions.append(ExceptionCode.ZERO_BYTES.value)
        if depth and unsafe_name(name):
            exceptions.append(ExceptionCode.UNSAFE_NAME.value)
        chain = [*above, shown]
        yield {
            CUSTODIAN: custodian,
            CONTAINER_PATH: chain,
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
            CHARACTERS: truth.characters,
            DUPLICATE_GROUP: None,
            TERMS: list(truth.terms),
            FAULT: truth.fault,
            EXCEPTIONS: exceptions,
            ANNOUNCED: None if shut else truth.announced,
            FAILED: None if shut else truth.failed,
            CONTENT: truth.content,
            SYSTEM: False,
            TEXT_STATES: list(truth.states) or None,
            TEXT_OF: None,
            LANGUAGE: None,
        }
        names = Siblings()
        for child in () if shut else truth.children:
            # Messages of a store may share folder and subject, and so their path.
            which = 1 if child.kind is Kind.MESSAGE else names.occurrence(child.name)
            below = sibling_name(display_name(child.name), which)
            yield from add(child.name, below, number(child.ordinal), child.kind, child.truth, own, family, chain)

    yield from add(path.rpartition(b"/")[2], display_name(path), path, Kind.LOOSE_FILE, truth, -1, -1, [])


def write_joined(parts: Sequence[Path], path: Path, system: frozenset[bytes]) -> Iterator[pa.Table]:
    """Write the manifest from parts whose row numbers start at 0 each, and yield each part as it was written.

    `path` exists, complete, only after all have been taken. Only hashes are held for the whole."""
    groups = _groups(parts)
    partial = path.with_name(path.name + ".partial")
    first = 0
    waiting: list[pa.Table] = []
    with pq.ParquetWriter(partial, SCHEMA, compression="zstd", compression_level=3) as out:
        for part in parts:
            table = feather.read_table(str(part), memory_map=False).replace_schema_metadata(None)
            table = _numbered(table, first, groups, system)
            first += table.num_rows
            yield table
            waiting.append(table)
            if sum(each.num_rows for each in waiting) >= _GROUP_ROWS:
                out.write_table(pa.concat_tables(waiting))
                waiting.clear()
        if waiting:
            out.write_table(pa.concat_tables(waiting))
    partial.rename(path)


def _numbered(table: pa.Table, first: int, groups: npt.NDArray[np.int64], system: frozenset[bytes]) -> pa.Table:
    """Return a part with row numbers of the whole, duplicate groups and the flag of system files."""
    changed: dict[str, Any] = {}
    for name in (PARENT, FAMILY):
        old: Any = table[name].to_pylist()
        changed[name] = [v + first if v >= 0 else v for v in old]
    mine = groups[first : first + table.num_rows].tolist()
    changed[DUPLICATE_GROUP] = [group if group >= 0 else None for group in mine]
    changed[SYSTEM] = [digest in system for digest in table[SHA256].to_pylist()]
    for name, values in changed.items():
        at = SCHEMA.get_field_index(name)
        table = table.set_column(at, SCHEMA.field(at), pa.array(values, SCHEMA.field(at).type))
    return table


def _groups(parts: Sequence[Path]) -> npt.NDArray[np.int64]:
    """Return for each row the number of the first row with the same bytes; -1 for a row that is alone or has no
    bytes."""
    halves: list[npt.NDArray[np.uint64]] = []
    sizes: list[npt.NDArray[np.int64]] = []
    for part in parts:
        table = feather.read_table(str(part), columns=[SHA256, BYTES], memory_map=False)
        digests: Any = table[SHA256].to_pylist()
        joined = b"".join(digest[:16] for digest in digests)
        halves.append(np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64))
        sizes.append(np.asarray(table[BYTES].to_pylist(), dtype=np.int64))
    if not halves:
        return np.zeros(0, dtype=np.int64)
    keys, bytes_ = np.concatenate(halves), np.concatenate(sizes)
    order = np.lexsort((np.arange(len(keys)), keys[:, 1], keys[:, 0]))
    ordered = keys[order]
    starts = np.concatenate(([True], np.any(ordered[1:] != ordered[:-1], axis=1)))
    numbers = np.cumsum(starts) - 1
    out = np.full(len(keys), -1, dtype=np.int64)
    out[order] = order[starts][numbers]
    alone = np.bincount(numbers)[numbers] == 1
    out[order[alone]] = -1
    out[bytes_ == 0] = -1
    return out


def read_manifest(path: Path) -> pa.Table:
    """Read the manifest of a corpus, given its file or the corpus's directory. Raises UsageError if it is none."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{file} is not a readable manifest: {error}") from error
    if missing := [name for name in SCHEMA.names if name not in table.column_names]:
        raise UsageError(f"{file} is not a manifest of edbench: it has no column {missing[0]}")
    return table


def iterate(table: pa.Table) -> Iterator[Row]:
    """Yield rows as dictionaries, batch by batch."""
    for batch in table.to_batches(max_chunksize=20_000):
        yield from batch.to_pylist()
