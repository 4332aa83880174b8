"""Checks of a source before anything is created: a job over it must be able to start."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from core.errors import SourceFileError, StorageFault, UsageError
from core.imported import LOAD_DIRECTORY, read_imported
from core.names import display_name
from core.records import ROOT_CUSTODIAN, Custodian, NewTask, Phase
from core.settings import Settings
from core.storage.layer import EntryKind, Storage
from core.storage.whole import is_within, parts_below

MANIFEST = "manifest.parquet"
_DESCRIPTION = "dataset.json"  # next to it in a complete corpus
MOST_CUSTODIANS = 100_000  # every slot reads their names with each task


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSource:
    """A source that exists and can be listed, with the entries of its first level."""

    path: bytes  # absolute
    device: int
    inode: int
    corpus: bool  # it is the `data` of a corpus
    manifest: Path | None  # the corpus's
    directories: tuple[bytes, ...]  # first-level directories, sorted by bytes
    others: int  # first-level entries that are no directories
    imported: bool = False  # a load file was imported into it


def prepare_source(storage: Storage, path: str | os.PathLike[str]) -> PreparedSource:
    """Validate a source directory; the source of a corpus is its `data`.

    Raises UsageError if it does not exist, is no directory, cannot be listed, contains no file or has too many
    directories, or if the import of a load file into it was not completed."""
    root = os.path.abspath(os.fsencode(path))
    storage.keep_below(root)
    directories, others = _first_level(storage, root)
    device, inode = _whole(storage, root)
    if b"data" in directories and _is_corpus(root, directories):
        root = os.path.join(root, b"data")
        directories, others = _first_level(storage, root)
        device, inode = _whole(storage, root)
    manifest = find_manifest(root)
    imported = read_imported(Path(os.fsdecode(root))) is not None
    if not others:
        _refuse_empty(storage, root, directories)
    return PreparedSource(
        path=root,
        device=device,
        inode=inode,
        corpus=manifest is not None,
        manifest=manifest,
        directories=tuple(sorted(name for name in directories if not imported or name != LOAD_DIRECTORY.encode())),
        others=others,
        imported=imported,
    )


def _refuse_empty(storage: Storage, root: bytes, directories: Collection[bytes]) -> None:
    """Raise UsageError if no file is below any of the directories: nothing would be measured. A directory that cannot
    be listed becomes an item of the job, and so does everything that is no directory."""
    ahead = [os.path.join(root, name) for name in directories]
    while ahead:
        path = ahead.pop()
        try:
            with storage.listing(path, only=EntryKind.DIRECTORY) as listing:
                names = [entry.name for entry in chain.from_iterable(listing)]
        except (SourceFileError, StorageFault):
            return
        if listing.count > len(names):
            return
        ahead += [os.path.join(path, name) for name in names]
    raise UsageError(
        f"source {display_name(root)} is empty: it contains no file; give a directory with files, and check its mount"
    )


def _is_corpus(root: bytes, directories: Collection[bytes]) -> bool:
    """Return whether the generator wrote the directory. Raises UsageError if it has another directory next to `data`,
    which no job would read."""
    if not _has_manifest(Path(os.fsdecode(root))):
        return False
    if others := sorted(name for name in directories if name != b"data" and not name.startswith(b".edbench")):
        raise UsageError(
            f"source {display_name(root)} is a generated corpus, whose files are in data, and also contains"
            f" {display_name(others[0])}: give {display_name(root)}/data, or move {display_name(others[0])} away"
        )
    return True


def _whole(storage: Storage, root: bytes) -> tuple[int, int]:
    """Return the root's device and inode. Raises UsageError if a part of its file system is not available: no listing
    would show its files."""
    try:
        identity = storage.root_identity(root)
        parts = parts_below(root, identity[0])
    except StorageFault as error:
        raise UsageError(f"source {display_name(root)} cannot be used: {error}") from error
    if parts.away:
        raise UsageError(
            f"source {display_name(root)} is incomplete: {', '.join(parts.away)} of its file system is not "
            "available; restore it"
        )
    return identity


def find_manifest(source: bytes) -> Path | None:
    """Return the manifest of the corpus whose `data` this source is; None for any other directory."""
    parent = Path(os.fsdecode(os.path.dirname(source)))
    return parent / MANIFEST if os.path.basename(source) == b"data" and _has_manifest(parent) else None


def _has_manifest(directory: Path) -> bool:
    return (directory / MANIFEST).is_file() and (directory / _DESCRIPTION).is_file()


def _first_level(storage: Storage, root: bytes) -> tuple[list[bytes], int]:
    shown = display_name(root)
    try:
        os.lstat(root)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"source {shown} does not exist; give an existing directory") from None
    except OSError as error:  # a mount whose servers are away
        raise UsageError(
            f"source {shown} cannot be accessed ({error.strerror}); check that it is mounted and reachable"
        ) from error
    if not os.path.isdir(root):
        raise UsageError(
            f"source {shown} is not a directory; give the directory that contains the custodians' directories"
        )
    try:
        with storage.listing(root, only=EntryKind.DIRECTORY) as listing:
            names = (e.name for e in chain.from_iterable(listing))
            directories = list(islice(names, MOST_CUSTODIANS + 1))
    except (SourceFileError, StorageFault) as error:
        raise UsageError(f"source {shown} cannot be listed ({error}); check its permissions and its mount") from error
    if not os.access(root, os.X_OK):
        raise UsageError(f"source {shown} cannot be entered; give this user execute permission on it")
    if len(directories) > MOST_CUSTODIANS:
        raise UsageError(
            f"source {shown} contains more than {MOST_CUSTODIANS:,} directories, and each would become a "
            "custodian; give its parent directory to make it one custodian"
        )
    return directories, listing.count - len(directories)


def refuse_own_output(source: PreparedSource, settings: Settings) -> None:
    """Raise UsageError if the job would find its own output: storage root or scratch is inside the source."""
    for path, variable in ((settings.storage, "EDBENCH_STORAGE"), (settings.scratch, "EDBENCH_SCRATCH")):
        if is_within(path, os.fsdecode(source.path)):
            raise UsageError(
                f"source {display_name(source.path)} contains {path}, to which edbench writes its own files; give "
                f"another directory, or set {variable} to a directory outside it"
            )


def custodians_of(source: PreparedSource) -> list[Custodian]:
    """Return a custodian for each first-level directory, in order, and `_root` last if there are files above them."""
    names = list(source.directories)
    if source.others and ROOT_CUSTODIAN not in names:
        names.append(ROOT_CUSTODIAN)
    return [Custodian(number=number, name=name) for number, name in enumerate(names)]


def first_tasks(source: PreparedSource) -> list[NewTask]:
    """Return the first walk tasks of a job: one for each custodian's directory, one for the files above them."""
    numbers = {custodian.name: custodian.number for custodian in custodians_of(source)}
    tasks = [_walk(numbers[name], name, files_only=False) for name in source.directories]
    if source.others:
        tasks.append(_walk(numbers[ROOT_CUSTODIAN], b"", files_only=True))
    return tasks


def _walk(custodian: int, directory: bytes, *, files_only: bool) -> NewTask:
    payload: dict[str, Any] = {
        "custodian": custodian,
        "directories": [base64.b64encode(directory).decode("ascii")],
        "files_only": files_only,
    }
    return NewTask(phase=Phase.WALK, weight=1, payload=payload)
