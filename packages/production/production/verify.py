"""Compares the files of an extraction, a processing or an export with the rows of the database: each file is read
again. The load files are compared with each other, by separate readers."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import computed_field

from controller.databases import JobHandle
from core.document import Document
from core.errors import SourceFileError, UsageError
from core.job_types import JobType
from core.names import display_name
from core.storage.layer import EntryKind, Storage
from core.storage.whole import strays
from core.texts import many
from production.check import Checked, check
from production.layout import KINDS, Place, folder
from production.options import ProductionChoice
from production.statements import PRODUCTION, FileRow

_AT_ONCE = 1_000
_CHUNK = 1 << 20
_EXACT = ("application/pdf", "image/tiff")  # formats that have pages themselves
_VOLUME = re.compile(r"VOL\d")
MISSING, EXTRA, WRONG = "missing", "extra", "wrong"


class FileDifference(Document):
    """A file that differs from its row, or has none."""

    what: str
    path: str
    expected: str
    found: str


class PageCount(Document):
    """Pages made of the items of one type, and those that the discovery counted; items with an exception are omitted.
    `differing`: items with another number of pages. `exact`: whether this is a fault, because both count the same
    pages."""

    media_type: str
    items: int
    pages: int
    found_pages: int
    differing: int
    exact: bool


class ProductionVerification(Document):
    """The outcome of verifying a production."""

    job_id: uuid.UUID
    type: JobType
    out: str
    items: int
    files: int
    bytes: int
    missing: int
    extra: int
    wrong: int
    examples: list[FileDifference]
    pages: list[PageCount]  # of a processing job
    load_files: list[str]  # compared with each other and with hashes.csv
    load_file_faults: int
    load_file_examples: list[str]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def pages_wrong(self) -> int:
        """Items of exact types whose number of pages differs from the discovery's."""
        return sum(each.differing for each in self.pages if each.exact)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def differences(self) -> int:
        """The number of all differences."""
        return self.missing + self.extra + self.wrong + self.pages_wrong + self.load_file_faults


@dataclass(slots=True)
class _Found:
    most: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((MISSING, EXTRA, WRONG), 0))
    examples: list[FileDifference] = field(default_factory=list)

    def add(self, what: str, path: str, expected: str, found: str) -> None:
        self.counts[what] += 1
        if self.counts[what] <= self.most:
            self.examples.append(FileDifference(what=what, path=path, expected=expected, found=found))


def verify_production(
    handle: JobHandle, storage: Storage, *, examples: int, progress: Callable[[str], None]
) -> ProductionVerification:
    """Read every file of the job and compare. Raises UsageError while it is not over, StorageFault, DatabaseFault."""
    if not handle.job.state.completed:
        raise UsageError(f"job {handle.id} is {handle.job.state}; only one that has completed can be verified")
    choice, found = handle.job.options.of(ProductionChoice), _Found(examples)
    out = os.fsencode(choice.out)
    files = size = 0
    for row in _rows(handle):
        files, size = files + 1, size + row.bytes
        _compare(storage, out, row, found)
        if files % _AT_ONCE == 0:
            progress(f"{many(files, 'file')} read")
    _extra(handle, storage, out, found)
    progress("comparing the load files")
    compared, shown = _load_files(Path(choice.out), choice.items, examples)
    return ProductionVerification(
        job_id=handle.id,
        type=choice.type,
        out=choice.out,
        items=choice.items,
        files=files,
        bytes=size,
        **found.counts,
        examples=found.examples,
        pages=_pages(handle) if choice.type is JobType.PROCESSING else [],
        load_files=compared.load_files,
        load_file_faults=compared.faults,
        load_file_examples=shown,
    )


def _load_files(out: Path, items: int, most: int) -> tuple[Checked, list[str]]:
    """Compare the load files of so many items with each other. The files themselves have been compared with the rows,
    from which `hashes.csv` was written."""
    shown: list[str] = []

    def report(line: str) -> None:
        if len(shown) < most:
            shown.append(line)

    try:
        return check(out, report, contents=False, records=items), shown
    except UsageError as error:  # one is missing or unreadable
        return Checked(faults=1), [str(error)]


def _pages(handle: JobHandle) -> list[PageCount]:
    with handle.database.transaction() as conn:
        rows = PRODUCTION.production_pages(conn, job=handle.id)
    return [PageCount(**row._asdict(), exact=row.media_type in _EXACT) for row in rows]


def _rows(handle: JobHandle) -> Iterator[FileRow]:
    """Yield the reports, then the files of the items, in portions."""
    choice = handle.job.options.of(ProductionChoice)
    last = choice.last
    ranges = [(0, 0), *((at, min(at + _AT_ONCE - 1, last)) for at in range(choice.first, last + 1, _AT_ONCE))]
    for first, until in ranges:
        with handle.database.transaction() as conn:
            rows = PRODUCTION.production_files(conn, job=handle.id, first=first, last=until)
        yield from rows


def _compare(storage: Storage, out: bytes, row: FileRow, found: _Found) -> None:
    state, size = hashlib.sha256(), 0
    try:
        with storage.open(os.path.join(out, os.fsencode(row.path))) as file:
            while chunk := file.read(_CHUNK):
                state.update(chunk)
                size += len(chunk)
    except SourceFileError as error:
        found.add(MISSING, row.path, f"{row.bytes:,} bytes", error.detail)
        return
    if state.digest() != bytes(row.sha256):
        found.add(
            WRONG, row.path, f"{row.bytes:,} bytes, sha256 {bytes(row.sha256).hex()}", f"{size:,}, {state.hexdigest()}"
        )


def _extra(handle: JobHandle, storage: Storage, out: bytes, found: _Found) -> None:
    """Report everything in its volumes that no row names."""
    with handle.database.transaction() as conn:
        places = PRODUCTION.production_folders(conn, job=handle.id)
    folders = set[str]()
    for one in places:
        with handle.database.transaction() as conn:
            known = set(PRODUCTION.production_files_of(conn, job=handle.id, volume=one.volume, folder=one.folder))
        for kind in KINDS:
            relative = folder(kind, Place(one.volume, one.folder))
            folders |= {relative, *(str(above) for above in Path(relative).parents)}
            entries = _entries(storage, out, relative)
            files = {path for path, is_file in entries.items() if is_file}
            _report(found, strays(files, known) | (entries.keys() - files))
    for above in sorted({os.path.dirname(relative) for relative in folders}):
        there = _entries(storage, out, above).keys()
        _report(found, {path for path in strays(there, folders) if above or _VOLUME.match(path)})


def _entries(storage: Storage, out: bytes, relative: str) -> dict[str, bool]:
    """Return the paths in a folder, and whether each is a file; files of a folder that does not exist are missing, and
    reported so."""
    try:
        entries = storage.scan(os.path.join(out, os.fsencode(relative)).rstrip(b"/"))
    except SourceFileError:
        return {}
    return {os.path.join(relative, os.fsdecode(entry.name)): entry.kind is EntryKind.FILE for entry in entries}


def _report(found: _Found, paths: AbstractSet[str]) -> None:
    for path in sorted(paths):
        found.add(EXTRA, display_name(os.fsencode(path)), "", "no row lists it")
