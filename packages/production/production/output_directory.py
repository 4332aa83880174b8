"""The output directory of a job: claims an empty one with a marker, and removes the job's files when the job is
deleted."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.databases import JobHandle
from controller.jobs.directories import hand_over
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.storage.layer import Entry, EntryKind, Storage
from core.storage.whole import is_within
from production.layout import KINDS, REPORTS, Place, folder, is_draft, is_of_item, is_report
from production.options import MARKER, ProductionChoice
from production.statements import PRODUCTION
from sql.session import Database

THEIRS = frozenset({b"lost+found"})  # present if the directory is the root of a file system
MARKER_NAME = MARKER.encode()


def evidence_of(databases: Iterable[Database]) -> dict[str, uuid.UUID]:
    """Return the sources of all jobs, each with one of its jobs: no job may write into what another one reads."""
    found: dict[str, uuid.UUID] = {}
    for database in databases:
        with database.transaction() as conn:
            found.update((os.fsdecode(bytes(row.source)), row.id) for row in PRODUCTION.production_evidence(conn))
    return found


def refuse_inside(out: Path, settings_storage: Path, evidences: Mapping[str, uuid.UUID]) -> None:
    """Raise UsageError if the directory is inside or around evidence, or in a directory that jobs write."""
    kept = [settings_storage / name for name in ("jobs", "corpora", "results")]
    for evidence, job in evidences.items():
        if is_within(out, evidence) or is_within(evidence, out):
            raise UsageError(
                f"one of --out {out} and the evidence {evidence} of job {job} is inside the other; give another "
                "directory",
                field="out",
            )
    if (theirs := _production_around(os.path.realpath(out))) is not None:
        raise UsageError(
            f"--out {out} is inside {theirs}, which another job wrote; give another directory", field="out"
        )
    for directory in kept:
        if is_within(out, directory) or is_within(directory, out):
            raise UsageError(
                f"--out {out}: edbench stores its own files in {directory}; give another directory", field="out"
            )


def _production_around(path: str) -> str | None:
    """Return the output directory of a job above this one: its content is deleted with that job."""
    above = os.path.dirname(path)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, MARKER)):
            return above
        above = os.path.dirname(above)
    return None


def missing(out: Path) -> list[bytes]:
    """Return the directory and those above it that do not exist yet, the deepest first."""
    path, absent = os.path.abspath(os.fsencode(out)), []
    while not os.path.lexists(path) and path != os.path.dirname(path):
        absent.append(path)
        path = os.path.dirname(path)
    return absent


def claim(storage: Storage, out: Path, job: uuid.UUID, storage_root: Path) -> None:
    """Take the directory for the job that is being created. Raises UsageError if it contains anything, StorageFault."""
    path = os.fsencode(out)
    storage.keep_below(path, own=True)
    try:
        storage.mkdir(path)
        found = {entry.name for entry in storage.scan(path)} - THEIRS
    except SourceFileError as error:
        raise UsageError(f"--out {out} cannot be used: {error.detail}", field="out") from error
    if MARKER_NAME in found:
        raise UsageError(
            f"--out {out} belongs to job {owner(storage, path) or '(unreadable)'}; delete that job, or remove {MARKER} if "
            "there is no such job and no command is creating one, or give another directory",
            field="out",
        )
    if found:
        raise UsageError(
            f"--out {out} is not empty, and edbench did not create its content; give an empty directory", field="out"
        )
    _mark(storage, out, job)
    if is_within(out, storage_root):
        hand_over(path, storage_root)


def _mark(storage: Storage, out: Path, job: uuid.UUID) -> None:
    """Create the marker without replacing one: of two jobs that find the directory empty at the same moment, one gets
    it."""
    try:
        with storage.create(os.path.join(os.fsencode(out), MARKER_NAME)) as file:
            file.write(json.dumps({"job": job.hex}).encode() + b"\n")
    except StorageFault as error:
        if error.errno == errno.EEXIST:
            raise UsageError(
                f"--out {out} has just been taken by another job; give another directory", field="out"
            ) from error
        raise


def owner(storage: Storage, path: bytes) -> str | None:
    """Return the job that the marker in a directory names; None if there is none."""
    try:
        with storage.open(os.path.join(path, MARKER_NAME)) as file:
            return uuid.UUID(json.loads(file.readall())["job"]).hex
    except (SourceFileError, ValueError, KeyError, TypeError, AttributeError):
        return None


def give_up(storage: Storage, out: Path, job: uuid.UUID, made: Iterable[bytes]) -> None:
    """Undo `claim` for a job that was not created. `made`: directories that were `missing` before."""
    path = os.fsencode(out)
    if owner(storage, path) == job.hex:
        storage.remove(os.path.join(path, MARKER_NAME), missing_ok=True)
    storage.let_go()  # the directory itself is in none of those that calls were kept below
    with contextlib.suppress(StorageFault):  # a file was added: it stays, with everything above
        for directory in made:
            storage.remove_empty(directory)


def shown(out: str) -> str:
    """Return the path for display."""
    return display_name(os.fsencode(out))


_NAMES = 5  # printed names
# Another program has replaced a file or directory of the job, or added something to it.
_REPLACED = frozenset((errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP))
_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The files of a job in the ledger; paths are relative to the output directory."""

    places: Collection[Place]
    files: Callable[[Place], Iterable[str]]
    reports: Collection[str]  # a job that did not finish has none, and may have written files without rows


def wrote(handle: JobHandle) -> Wrote:
    """Return the files of a job, by its rows. Raises DatabaseFault, as its `files` do."""
    with handle.database.transaction() as conn:
        places = [Place(row.volume, row.folder) for row in PRODUCTION.production_folders(conn, job=handle.id)]
        reports = [row.path for row in PRODUCTION.production_files(conn, job=handle.id, first=0, last=0)]

    def files(place: Place) -> list[str]:
        with handle.database.transaction() as conn:
            return PRODUCTION.production_files_of(conn, job=handle.id, volume=place.volume, folder=place.folder)

    return Wrote(places=places, files=files, reports=reports)


def remove_output(storage: Storage, choice: ProductionChoice, job: uuid.UUID, of: Wrote) -> str:
    """Remove the job's files, its marker last; return one line about files that stay because they are not the job's.
    Removes nothing from a directory that another job has taken since. Raises StorageFault, DatabaseFault."""
    path = os.fsencode(choice.out)
    storage.keep_below(path, own=True)
    if owner(storage, path) != job.hex:
        return ""
    removal = _Removal(storage, choice, of)
    removal.files()
    removal.reports()
    left = sorted(removal.left())
    storage.remove(os.path.join(path, MARKER_NAME), missing_ok=True)
    if not left:
        return ""
    more = f" and {len(left) - _NAMES:,} more" if len(left) > _NAMES else ""
    named = ", ".join(map(display_name, left[:_NAMES]))
    return f"{shown(choice.out)} contains files that job {job} did not write, which stay: {named}{more}"


class _Removal:
    """Removal of a job's files from one directory."""

    def __init__(self, storage: Storage, choice: ProductionChoice, of: Wrote) -> None:
        self._storage, self._choice, self._of = storage, choice, of
        self._out = os.fsencode(choice.out)
        self._directories: set[bytes] = set()  # created by the job, relative

    def files(self) -> None:
        """Remove the files of items, then the directories that are empty, the deepest first."""
        for place in self._of.places:
            for file in self._of.files(place):
                self._gone(self._storage.remove, os.fsencode(file), missing_ok=True)
            for kind in KINDS:
                self._folder(folder(kind, place).encode())
        for directory in sorted(self._directories, key=len, reverse=True):
            self._gone(self._storage.remove_empty, directory)

    def _folder(self, path: bytes) -> None:
        """Remove files without a row: their slot died before it wrote one."""
        above = os.path.dirname(path)
        self._directories |= {above, os.path.dirname(above)}
        if self._gone(self._storage.remove_empty, path):
            return
        self._directories.add(path)
        for name, kind in self._entries(path):
            unknown = is_draft(name) or not self._of.reports
            if kind is EntryKind.FILE and unknown and is_of_item(self._choice, name):
                self._gone(self._storage.remove, os.path.join(path, name), missing_ok=True)

    def reports(self) -> None:
        """Remove the reports, by the names that the job gave them, and their drafts: storage that ignores case may list
        the names in another case."""
        names = self._of.reports or REPORTS[self._choice.type]
        for report in names:
            self._gone(self._storage.remove, os.fsencode(report), missing_ok=True)
        for name, kind in self._entries(b""):
            if kind is EntryKind.FILE and is_draft(name.lower()) and is_report(self._choice.type, name.lower()):
                self._gone(self._storage.remove, name, missing_ok=True)

    def left(self, below: bytes = b"") -> Iterator[bytes]:
        """Yield what is still there; a directory that is not the job's counts as one."""
        for name, kind in self._entries(below):
            path = os.path.join(below, name)
            if kind is EntryKind.DIRECTORY and path.upper() in self._directories:
                yield from self.left(path)
            elif below or name not in (MARKER_NAME, *THEIRS):
                yield path

    def _gone(self, remove: Callable[..., None], relative: bytes, **how: bool) -> bool:
        """Remove the entry; return False if it contains a file that the job did not write."""
        try:
            remove(os.path.join(self._out, relative), **how)
        except StorageFault as error:
            if error.errno not in _REPLACED:
                raise
            return False
        return True

    def _entries(self, relative: bytes) -> list[Entry]:
        path = os.path.join(self._out, relative) if relative else self._out
        try:
            return self._storage.scan(path)
        except (SourceFileError, StorageFault) as error:
            if error.errno in _GONE:
                return []
            if isinstance(error, StorageFault):
                raise
            raise StorageFault(
                f"{error.detail}; give this user access to it, then try again", errno=error.errno
            ) from error
