"""Whose an output directory is: an empty one is taken with a marker, and one that somebody was killed over is taken over."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.jobs.directories import hand_over
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.options.production import MARKER
from core.places import job_location
from core.storage.layer import Storage
from core.storage.whole import lies_in
from sql.faces.production import PRODUCTION
from sql.jobs import get_job
from sql.session import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

THEIRS = frozenset({b"lost+found"})  # of file systems whose root is the directory
MARKER_NAME = MARKER.encode()


def evidence_of(databases: Iterable[Database]) -> dict[str, uuid.UUID]:
    """The sources of all jobs there are, each with a job of it: what one of them reads another one must not write into."""
    found: dict[str, uuid.UUID] = {}
    for database in databases:
        with database.transaction() as conn:
            found.update((os.fsdecode(bytes(row.source)), row.id) for row in PRODUCTION.production_evidence(conn))
    return found


def refuse_inside(out: Path, settings_storage: Path, evidences: Mapping[str, uuid.UUID]) -> None:
    """Raises UsageError where the directory lies in evidence, around it, or among what jobs write."""
    kept = [settings_storage / name for name in ("jobs", "corpora", "results")]
    for evidence, job in evidences.items():
        if lies_in(out, evidence) or lies_in(evidence, out):
            raise UsageError(
                f"--out {out} and the evidence {evidence} of job {job} are inside each other; give another directory",
                field="out",
            )
    if (theirs := _production_around(os.path.realpath(out))) is not None:
        raise UsageError(
            f"--out {out} is inside {theirs}, which another job wrote; give another directory", field="out"
        )
    for directory in kept:
        if lies_in(out, directory) or lies_in(directory, out):
            raise UsageError(
                f"--out {out}: edbench stores its own files in {directory}; give another directory", field="out"
            )


def _production_around(path: str) -> str | None:
    """The output directory of a job above this one: what lies there is deleted with that job."""
    above = os.path.dirname(path)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, MARKER)):
            return above
        above = os.path.dirname(above)
    return None


def missing(out: Path) -> list[bytes]:
    """The directory and those above it, as far as they are not there yet, the deepest first."""
    path, absent = os.path.abspath(os.fsencode(out)), []
    while not os.path.lexists(path) and path != os.path.dirname(path):
        absent.append(path)
        path = os.path.dirname(path)
    return absent


def claim(storage: Storage, out: Path, job: uuid.UUID, storage_root: Path, conn: Connection) -> None:
    """Take the directory for the job that this transaction creates. Raises UsageError where it holds anything but the marker of a
    job whose creation was killed, StorageFault."""
    PRODUCTION.production_creating(conn, job=job)
    ledger = PRODUCTION.production_ledger(conn)
    path = os.fsencode(out)
    storage.keep_below(path, own=True)
    try:
        storage.mkdir(path)
        found = {entry.name for entry in storage.scan(path)} - THEIRS
    except SourceFileError as error:
        raise UsageError(f"--out {out} cannot be used: {error.detail}", field="out") from error
    if MARKER_NAME in found:
        _take_over(storage, out, storage_root, conn, ledger, alone=len(found) == 1)
    elif found:
        raise UsageError(
            f"--out {out} is not empty, and edbench did not create its content; give an empty directory", field="out"
        )
    _mark(storage, out, {"job": job.hex, "ledger": ledger})
    if lies_in(out, storage_root):
        hand_over(path, storage_root)


def _take_over(storage: Storage, out: Path, storage_root: Path, conn: Connection, ledger: str, *, alone: bool) -> None:
    """Remove the marker of a job of this ledger that nobody creates any more, and that has never been there: it wrote nothing
    else. Raises UsageError for any other one."""
    path, whose = os.fsencode(out), owner(storage, os.fsencode(out))
    if whose is None:
        raise UsageError(
            f"--out {out} has a marker ({MARKER}) without a job, as a killed command leaves behind; remove that file if"
            " no command is creating a job there, or give another directory",
            field="out",
        )
    job, ours = uuid.UUID(whose), _marker(storage, path).get("ledger") == ledger
    if alone and ours:
        if not PRODUCTION.production_creating(conn, job=job):
            raise UsageError(f"--out {out}: job {job} is being created there; give another directory", field="out")
        # Whoever takes a marker over holds this, so that it cannot have become another one since it was read again.
        if owner(storage, path) == whose and not _is_there(conn, job):
            storage.remove(os.path.join(path, MARKER_NAME))
            with contextlib.suppress(StorageFault):  # nothing needs its empty folder to be gone
                storage.remove_empty(os.path.join(os.fsencode(storage_root), job_location(job)))
            return
    if ours and not _is_there(conn, job):
        raise UsageError(
            f"--out {out} contains the marker of job {job}, which does not exist, and other files; move these away,"
            " or give another directory",
            field="out",
        )
    raise UsageError(
        f"--out {out} contains the output of job {job}; delete that job, or give another directory", field="out"
    )


def _is_there(conn: Connection, job: uuid.UUID) -> bool:
    try:
        get_job(conn, job)
    except UsageError:
        return False
    return True


def _mark(storage: Storage, out: Path, marker: dict[str, str]) -> None:
    """Not replacing: of two jobs that found the directory empty in the same moment one has it."""
    try:
        with storage.create(os.path.join(os.fsencode(out), MARKER_NAME)) as file:
            file.write(json.dumps(marker).encode() + b"\n")
    except StorageFault as error:
        if error.errno == errno.EEXIST:
            raise UsageError(
                f"--out {out} has just been taken by another job; give another directory", field="out"
            ) from error
        raise


def owner(storage: Storage, path: bytes) -> str | None:
    """The job that the marker in a directory names; None where there is none."""
    try:
        return uuid.UUID(_marker(storage, path)["job"]).hex
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _marker(storage: Storage, path: bytes) -> dict[str, Any]:
    """What it says; nothing where there is none, or it is none of ours."""
    try:
        with storage.open(os.path.join(path, MARKER_NAME)) as file:
            found = json.loads(file.readall())
    except (SourceFileError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def give_up(storage: Storage, out: Path, job: uuid.UUID, made: Iterable[bytes]) -> None:
    """The opposite of `claim`, for a job that was not created. `made`: directories that were `missing` before."""
    path = os.fsencode(out)
    if owner(storage, path) == job.hex:
        storage.remove(os.path.join(path, MARKER_NAME), missing_ok=True)
    storage.let_go()  # the directory itself lies in none of those that calls were kept below
    with contextlib.suppress(StorageFault):  # somebody has put something in: it stays, and so does all above it
        for directory in made:
            storage.remove_empty(directory)


def shown(out: str) -> str:
    """For people."""
    return display_name(os.fsencode(out))
