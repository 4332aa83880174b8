"""Whose an output directory is: an empty one is taken with a marker."""

from __future__ import annotations

import errno
import json
import os
import uuid
from pathlib import Path

from controller.databases import JobHandle
from controller.jobs.ownership import hand_over
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.options.production import MARKER
from core.storage.layer import Storage
from core.storage.within import lies_in

THEIRS = frozenset({b"lost+found"})  # of file systems whose root is the directory
MARKER_NAME = MARKER.encode()


def refuse_inside(out: Path, settings_storage: Path, sources: list[JobHandle]) -> None:
    """Raises UsageError where the directory lies in evidence, around it, or among what jobs write."""
    kept = [settings_storage / name for name in ("jobs", "corpora", "results")]
    for handle in sources:
        evidence = os.fsdecode(handle.job.source)
        if lies_in(out, evidence) or lies_in(evidence, out):
            raise UsageError(f"--out {out} and the evidence {evidence} are in each other; write elsewhere", field="out")
    if (theirs := _production_around(os.path.realpath(out))) is not None:
        raise UsageError(f"--out {out} lies in {theirs}, which another job wrote; write elsewhere", field="out")
    for directory in kept:
        if lies_in(out, directory) or lies_in(directory, out):
            raise UsageError(f"--out {out}: edbench keeps its own files in {directory}; write elsewhere", field="out")


def _production_around(path: str) -> str | None:
    """The output directory of a job above this one: what lies there is deleted with that job."""
    above = os.path.dirname(path)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, MARKER)):
            return above
        above = os.path.dirname(above)
    return None


def claim(storage: Storage, out: Path, job: uuid.UUID, storage_root: Path) -> None:
    """Take the directory for a job that is about to be created. Raises UsageError where it holds anything, StorageFault."""
    path = os.fsencode(out)
    storage.keep_below(path, own=True)
    try:
        storage.mkdir(path)
        found = {entry.name for entry in storage.scan(path)} - THEIRS
    except SourceFileError as error:
        raise UsageError(f"--out {out} cannot be used: {error.detail}", field="out") from error
    if MARKER_NAME in found:
        raise UsageError(
            f"--out {out} holds what job {owner(storage, path) or '?'} wrote; delete that job, or give another directory",
            field="out",
        )
    if found:
        raise UsageError(
            f"--out {out} is not empty, and nothing in it is edbench's; give an empty directory", field="out"
        )
    _mark(storage, out, job)
    if lies_in(out, storage_root):
        hand_over(path, storage_root)


def _mark(storage: Storage, out: Path, job: uuid.UUID) -> None:
    """Not replacing: of two jobs that found the directory empty in the same moment one has it."""
    try:
        with storage.create(os.path.join(os.fsencode(out), MARKER_NAME)) as file:
            file.write(json.dumps({"job": job.hex}).encode() + b"\n")
    except StorageFault as error:
        if error.errno == errno.EEXIST:
            raise UsageError(
                f"--out {out} was taken by another job just now; give another directory", field="out"
            ) from error
        raise


def owner(storage: Storage, path: bytes) -> str | None:
    """The job that the marker in a directory names; None where there is none."""
    try:
        with storage.open(os.path.join(path, MARKER_NAME)) as file:
            found = json.loads(file.readall())
        return uuid.UUID(found["job"]).hex
    except (SourceFileError, ValueError, KeyError, TypeError):
        return None


def give_up(storage: Storage, out: Path, job: uuid.UUID) -> None:
    """The opposite of `claim`, for a job that was not created."""
    path = os.fsencode(out)
    if owner(storage, path) == job.hex:
        storage.remove(os.path.join(path, MARKER_NAME), missing_ok=True)


def shown(out: str) -> str:
    """For people."""
    return display_name(os.fsencode(out))
