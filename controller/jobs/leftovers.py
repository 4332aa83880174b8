"""Job directories on the storage root without a row in any database: the databases were removed, the filer was not."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.document import Document
from core.errors import StorageFault
from core.places import copies_location, job_location
from core.storage.layer import Storage
from sql.jobs import JOBS
from sql.session import Database
from sql.timeline import CALLS

REST_SECONDS = 3_600.0  # a directory that changed since may belong to a job that runs in another installation
_MOST_GROUPS = 1_000_000
_HEX = re.compile(rb"[0-9a-f]{32}")


class Leftover(Document):
    """A directory without a row in any database."""

    path: str
    job: uuid.UUID  # or the group whose copies of a source it contains
    changed: datetime
    removed: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    location: bytes  # relative to the storage root
    id: uuid.UUID


def leftovers(root: Path, databases: Sequence[Database]) -> list[Leftover]:
    """Return directories of jobs, and copies of sources, without a row in any database; oldest change first. Raises
    StorageFault, DatabaseFault."""
    found = [
        *_named(root, job_location),
        *_named(root, copies_location),
    ]  # before the rows: a new job has its row by then
    known = _known(databases, [each.id for each in found])
    rows = [
        Leftover(
            path=os.fsdecode(os.path.join(os.fsencode(root), each.location)), job=each.id, changed=_changed(root, each)
        )
        for each in found
        if each.id not in known
    ]
    return sorted(rows, key=lambda row: row.changed)


def remove(root: Path, leftover: Leftover) -> None:
    """Remove the directory with everything in it; links are not followed. Raises StorageFault."""
    storage = Storage()
    storage.keep_below(os.fsencode(root), own=True)
    storage.remove_tree(os.fsencode(leftover.path))


def rests(leftover: Leftover, now: datetime) -> bool:
    """Return whether the directory has not changed for so long that no job writes to it."""
    return (now - leftover.changed).total_seconds() > REST_SECONDS


def _named(root: Path, location: Callable[[uuid.UUID], bytes]) -> Iterator[_Found]:
    """Yield the directories whose name has the form that `location` gives the directory of an id."""
    parent, name = os.path.split(location(uuid.UUID(int=0)))
    prefix = name.removesuffix(b"0" * 32)
    try:
        with os.scandir(os.path.join(os.fsencode(root), parent)) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageFault(f"{root} cannot be listed: {error.strerror}", errno=error.errno or 0) from error
    for each in names:
        if each.startswith(prefix) and _HEX.fullmatch(digits := each.removeprefix(prefix)):
            yield _Found(os.path.join(parent, each), uuid.UUID(digits.decode()))


def _known(databases: Sequence[Database], ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    known: set[uuid.UUID] = set()
    for database in databases:
        with database.transaction() as conn:
            known.update(CALLS.known_jobs(conn, jobs=list(ids)))
            known |= {group.id for group in JOBS.list_groups(conn, limit=_MOST_GROUPS)}
    return known


def _changed(root: Path, found: _Found) -> datetime:
    """Return the latest change of the directory and of those one and two levels below it, in which a job creates its
    files."""
    newest, level = 0.0, [os.path.join(os.fsencode(root), found.location)]
    for _ in range(3):
        below: list[bytes] = []
        for directory in level:
            try:
                newest = max(newest, os.lstat(directory).st_mtime)
                with os.scandir(directory) as entries:
                    below += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:  # removed meanwhile, or closed to this user: removing it reports that
                continue
        level = below
    return datetime.fromtimestamp(newest, UTC)
