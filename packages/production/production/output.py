"""The output directory of a job that writes files: each file has its hashes, and is complete under its name once its
task is done."""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from core.errors import SourceFileError, StorageFault, UsageError
from core.job_types import FileKind
from core.names import display_name
from core.records import Job, JobOptions
from core.storage.files import WRITE_SIZE
from core.storage.layer import WriteFile
from production.layout import Place, folder
from production.options import MARKER, ProducedFile, ProductionChoice
from sql import jobs
from sql.findings import Item
from sql.items import ITEMS
from worker.items.sources import FilerSource, FoundSource, hash_differs
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

if TYPE_CHECKING:
    from typing_extensions import Buffer

    Content = bytes | Iterable[Buffer]  # of a file: as a whole if it is small, else in pieces


class Output:
    """One task's access to the output directory. Raises StorageFault if the directory is missing, or not the job's."""

    def __init__(self, work: TaskWork) -> None:
        self.work, self.choice = work, work.job.options.of(ProductionChoice)
        self.path = os.fsencode(self.choice.out)
        self.written = 0
        storage = work.storage
        storage.keep_below(self.path, own=True, hold=True)
        work.context.breadcrumb.doing(Activity.LOOKING, self.path)
        try:
            with storage.open(os.path.join(self.path, MARKER.encode())) as marker:
                ours = work.job.id.hex.encode() in marker.readall()
        except SourceFileError as e:
            raise StorageFault(
                f"{display_name(self.path)} is not the output directory of job {work.job.id} ({e.detail}); check "
                "that it is mounted, or restore it",
                errno=e.errno,
            ) from e
        if not ours:
            raise StorageFault(
                f"{display_name(self.path)} is the output directory of another job; give this job its own"
            )
        storage.floor = self.path  # everything is created below it, and it is never created again

    def control(self, number: int, first_page: int | None) -> str:
        """Return the number by which an item's files are named: that of its first page if pages have numbers."""
        return self.choice.control(number if first_page is None else first_page)

    def put(
        self,
        number: int,
        kind: FileKind,
        place: Place,
        name: str,
        content: Content,
        *,
        page: int = 0,
        expected: bytes | None = None,
    ) -> ProducedFile:
        """Write one file of an item. Exceptions raised by reading `content` are passed on; bytes whose sha256 is not
        the `expected` one raise DocumentError before the file has its name. Raises StorageFault; then half a file may
        remain, which the next claim replaces."""
        relative, hashes = f"{folder(kind, place)}/{name}", _Hashes(expected)
        if isinstance(content, bytes) and len(content) <= WRITE_SIZE:  # a file that differs is never created
            hashes.take(content)
            hashes.compare()
            self._write(self._absolute(relative), content)
            size = len(content)
        else:
            chunks = (content,) if isinstance(content, bytes) else content
            size = self.work.storage.write_file(self._absolute(relative), self._hashed(chunks, hashes))
        return self._produced(relative, (number, kind, page), size, hashes)

    def _write(self, path: bytes, content: bytes) -> None:
        """Write a file under its own name at once if no file has that name, which saves the filer a rename. A lost
        claim may have begun such a file, or may yet begin one: an existing file is replaced only by a complete one, and
        the file that the lost claim has open then has no name. So an abort leaves the name alone: by then it may be
        that of the next claim's file."""
        storage = self.work.storage
        try:
            file = storage.create(path)
        except StorageFault as e:
            if e.errno not in (errno.EEXIST, errno.ENOENT):
                raise
            opened: AbstractContextManager[WriteFile] = storage.writing(path)  # creates missing directories, too
        else:
            file.keep()
            opened = file
        with opened as file:
            if content:
                file.write(content)

    def _absolute(self, relative: str) -> bytes:
        return b"%s/%s" % (self.path, os.fsencode(relative))

    def _hashed(self, chunks: Iterable[Buffer], hashes: _Hashes) -> Iterator[Buffer]:
        alive = self.work.context.breadcrumb.alive
        for chunk in chunks:
            hashes.take(chunk)
            yield chunk
            alive()
        hashes.compare()

    def _produced(self, relative: str, key: tuple[int, FileKind, int], size: int, hashes: _Hashes) -> ProducedFile:
        self.written += size
        number, kind, page = key
        return ProducedFile(
            number=number,
            kind=kind,
            page=page,
            path=relative,
            size=size,
            sha256=hashes.sha256.digest(),
            md5=hashes.md5.digest(),
        )

    @contextmanager
    def growing(self, relative: str, number: int) -> Iterator[Growing]:
        """Yield report `number` of the job, which is written along with others; it gets its name if the block succeeds.
        Raises StorageFault."""
        with self.work.storage.writing(self._absolute(relative)) as file:
            report = Growing(file, relative)
            yield report
            report.flush()
        report.file = self._produced(relative, (0, FileKind.REPORT, number), file.bytes_written, report.hashes)


class Growing:
    """A file that is appended to; `file` is its row once it is complete."""

    def __init__(self, into: WriteFile, path: str) -> None:
        self.path, self.hashes = path, _Hashes()
        self.file: ProducedFile | None = None
        self._into, self._held = into, bytearray()

    def add(self, data: bytes) -> None:
        """Append data; write it in pieces that suit a filer."""
        self._held += data
        while len(self._held) >= WRITE_SIZE:
            self._write(self._held[:WRITE_SIZE])
            del self._held[:WRITE_SIZE]

    def flush(self) -> None:
        """Write the rest."""
        if self._held:
            self._write(self._held)
            self._held = bytearray()

    def _write(self, piece: bytearray) -> None:
        self.hashes.take(piece)
        self._into.write(piece)


class _Hashes:
    """Hashes of written data, updated as it passes."""

    def __init__(self, expected: bytes | None = None) -> None:
        self._expected = expected
        self.sha256, self.md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)

    def take(self, chunk: Buffer) -> None:
        """Add a piece of data."""
        self.sha256.update(chunk)
        self.md5.update(chunk)

    def compare(self) -> None:
        """Compare the hash of all data. Raises DocumentError if it is not the expected one."""
        if self._expected is not None and self.sha256.digest() != self._expected:
            raise hash_differs(self.sha256.hexdigest(), self._expected)


class Evidence:
    """Access of one task to the evidence. Each job's source is checked to be unchanged before anything of it is
    read."""

    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._jobs: dict[uuid.UUID, Job] = {}

    def items(self, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, Item]:
        """Return the rows of these items. Raises StorageFault if one was deleted with its job."""
        with self._work.database.transaction() as conn:
            found = {item.id: item for item in ITEMS.load_items(conn, items=list(ids))}
        if (gone := len(set(ids)) - len(found)) > 0:
            raise items_gone(gone)
        return found

    def source(self, item: Item, job: uuid.UUID, most: int) -> FoundSource | None:
        """Return the item's bytes as they were when it was found, at most `most` of them; None if none could be read
        then. Raises StorageFault."""
        if item.sha256 is None:
            return None
        path = item.ordinal if item.parent is None else None
        source = self.bytes_at(job, path, item.location, item.name, item.size)
        return None if source is None else FoundSource(source, item.sha256, most)

    def bytes_at(
        self, job: uuid.UUID, path: bytes | None, location: bytes | None, name: bytes, size: int
    ) -> FilerSource | None:
        """Return the bytes of a loose file with this path in its job's source, or of a child that was written there."""
        if path is not None:
            root = self._source_of(job).source
            return FilerSource(self._work.storage, os.path.join(root, path), name, size, own=False)
        if location is None:
            return None
        return FilerSource(self._work.storage, os.path.join(self._work.root, location), name, size, own=True)

    def check(self, job: uuid.UUID) -> None:
        """Raise StorageFault unless the job's source is what it was when the job was created."""
        self._work.check_root_of(self._source_of(job))

    def options(self, job: uuid.UUID) -> JobOptions:
        """Return the options with which the job found its items: an item read again with them gives the content of the
        index."""
        return self._source_of(job).options

    def _source_of(self, job: uuid.UUID) -> Job:
        if job not in self._jobs:
            try:
                with self._work.database.transaction() as conn:
                    found = jobs.get_job(conn, job)
            except UsageError as e:
                raise StorageFault(f"job {job}, whose items this job produces, was deleted; cancel this job") from e
            self._work.storage.keep_below(found.source, hold=True)
            self._work.check_root_of(found)
            self._jobs[job] = found
        return self._jobs[job]


def items_gone(many: int) -> StorageFault:
    """Return the fault that so many items have no row any more."""
    return StorageFault(f"{many} of the items no longer exist: the job that found them was changed; cancel this job")
