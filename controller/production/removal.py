"""Removes from an output directory what the job wrote there, and tells what is not the job's and stays."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from controller.databases import JobHandle
from controller.production.place import MARKER_NAME, THEIRS, owner, shown
from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.options.production import ProductionChoice
from core.storage.layer import Entry, EntryKind, Storage
from production.layout import KINDS, REPORTS, Place, folder, is_draft, is_of_item, is_report
from sql.faces.production import PRODUCTION

_NAMES = 5  # that are told
# Somebody has put something else where a file or directory of the job's was, or something into it.
_REPLACED = frozenset((errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP))
_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """What the ledger knows of it; paths are relative to the output directory."""

    places: Collection[Place]
    files: Callable[[Place], Iterable[str]]
    reports: Collection[str]  # a job that did not come to its end has none, and may have written what no row tells of


def wrote(handle: JobHandle) -> Wrote:
    """By a job's rows. Raises DatabaseFault, as its `files` do."""
    with handle.database.transaction() as conn:
        places = [Place(row.volume, row.folder) for row in PRODUCTION.production_folders(conn, job=handle.id)]
        reports = [row.path for row in PRODUCTION.production_files(conn, job=handle.id, first=0, last=0)]

    def files(place: Place) -> list[str]:
        with handle.database.transaction() as conn:
            return PRODUCTION.production_files_of(conn, job=handle.id, volume=place.volume, folder=place.folder)

    return Wrote(places=places, files=files, reports=reports)


def remove_output(storage: Storage, choice: ProductionChoice, job: uuid.UUID, of: Wrote) -> str:
    """Remove what the job wrote, its marker last, and say in one line what stays there because it is not the job's; nothing of
    a directory that another job took since. Raises StorageFault, DatabaseFault."""
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
    """From one directory."""

    def __init__(self, storage: Storage, choice: ProductionChoice, of: Wrote) -> None:
        self._storage, self._choice, self._of = storage, choice, of
        self._out = os.fsencode(choice.out)
        self._directories: set[bytes] = set()  # that the job made, relative

    def files(self) -> None:
        """Those of items, then the directories that hold nothing any more, the deepest first."""
        for place in self._of.places:
            for file in self._of.files(place):
                self._gone(self._storage.remove, os.fsencode(file), missing_ok=True)
            for kind in KINDS:
                self._folder(folder(kind, place).encode())
        for directory in sorted(self._directories, key=len, reverse=True):
            self._gone(self._storage.remove_empty, directory)

    def _folder(self, path: bytes) -> None:
        """Files that no row tells of: a slot that died had not come to that."""
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
        """And drafts of these. As we made them: storage that does not tell case apart may list them in another one."""
        names = self._of.reports or REPORTS[self._choice.type]
        for report in names:
            self._gone(self._storage.remove, os.fsencode(report), missing_ok=True)
        for name, kind in self._entries(b""):
            if kind is EntryKind.FILE and is_draft(name.lower()) and is_report(self._choice.type, name.lower()):
                self._gone(self._storage.remove, name, missing_ok=True)

    def left(self, below: bytes = b"") -> Iterator[bytes]:
        """What is there still, a directory that is not the job's as one."""
        for name, kind in self._entries(below):
            path = os.path.join(below, name)
            if kind is EntryKind.DIRECTORY and path.upper() in self._directories:
                yield from self.left(path)
            elif below or name not in (MARKER_NAME, *THEIRS):
                yield path

    def _gone(self, remove: Callable[..., None], relative: bytes, **how: bool) -> bool:
        """False where somebody put something else there."""
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
