"""Creation of the discovery that the user ordered: one job, or a group over several databases."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import heapq
import os
import uuid
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from controller.databases import JobHandle, Jobs, alone, refuse_experiment
from controller.jobs.groups import find_group, group_state, refresh
from controller.jobs.jobs import create_discovery_job, default_name, delete_job, resume_job
from controller.jobs.orders import DiscoveryPlan, check_plan
from controller.jobs.source import PreparedSource, prepare_source
from controller.labels.rules import Surroundings, surroundings_of
from core.errors import EdbenchError, SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.places import copies_location
from core.records import GroupKind, JobState
from core.settings import Settings
from core.storage.layer import EntryKind, Storage
from sql import jobs as ledger_jobs
from sql import states
from sql.jobs import JOBS, GroupMember, get_job
from sql.session import Database

_CHUNK = 1 << 20


def copy_source(
    storage: Storage, storage_root: Path, group: uuid.UUID, database: str, source: PreparedSource
) -> PreparedSource:
    """Copy the source for one database, and prepare the copy like any source.

    Raises UsageError for content that cannot be copied (links, devices, unreadable files, names that are the same on
    the storage root), StorageFault."""
    storage.keep_below(os.fsencode(storage_root), own=True)
    copies = os.path.join(os.fsencode(storage_root), copies_location(group))
    target = os.path.join(copies, database.encode())
    storage.mkdir(copies)
    _copy_tree(storage, source.path, target)
    return prepare_source(storage, os.fsdecode(target))


def remove_copies(storage: Storage, storage_root: Path, group: uuid.UUID) -> None:
    """Remove all copies of a group's source, if there are any. Raises StorageFault."""
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.remove_tree(os.path.join(os.fsencode(storage_root), copies_location(group)))


def _copy_tree(storage: Storage, path: bytes, target: bytes) -> None:
    try:
        storage.mkdir(target, exist_ok=False)
        listing = storage.listing(path)
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error
    except StorageFault as error:
        raise _name_clash(path, error) from error
    with listing:
        for entry in chain.from_iterable(listing):
            below, copied = os.path.join(path, entry.name), os.path.join(target, entry.name)
            if entry.kind is EntryKind.DIRECTORY:
                _copy_tree(storage, below, copied)
            else:
                _copy_file(storage, below, copied)


def _copy_file(storage: Storage, path: bytes, target: bytes) -> None:
    try:
        with storage.open(path) as file, storage.create(target) as copy:
            while chunk := file.read(_CHUNK):
                copy.write(chunk)
    except SourceFileError as error:
        raise _cannot_copy(error.detail) from error
    except StorageFault as error:
        raise _name_clash(path, error) from error


def _name_clash(path: bytes, error: StorageFault) -> UsageError | StorageFault:
    """Refuse a copy if the storage root takes two names of the source for one: one of the two files would be lost."""
    if error.errno != errno.EEXIST:
        return error
    return _cannot_copy(
        f"{display_name(path)} already exists on the storage root; check whether its file system ignores case"
    )


def _cannot_copy(why: str) -> UsageError:
    return UsageError(
        f"the source cannot be copied: {why}; remove --source-copies, and every job reads the source itself"
    )


def split_source(storage: Storage, source: PreparedSource, parts: int) -> list[PreparedSource]:
    """Divide the source into `parts` of about equal size, each with some of its custodians (see `lpt`).

    Sizes are bytes of all items if there is a manifest, else entries of the custodians' first two levels. Raises
    UsageError if there are fewer custodians than parts."""
    units = len(source.directories) + bool(source.others)
    if units < parts:
        raise UsageError(
            f"--shard needs a custodian for each database: {display_name(source.path)} has {units} for {parts}"
            " databases; use fewer databases, or remove --shard"
        )
    sizes = _manifest_sizes(source) if source.manifest is not None else _entry_counts(storage, source)
    shares = lpt(sizes, source.directories, parts)
    # Files above the directories are few: they go to the smallest part, as a custodian of their own.
    rest = min(range(parts), key=lambda n: (sum(sizes.get(name, 0) for name in shares[n]), len(shares[n])))
    return [
        dataclasses.replace(source, directories=tuple(sorted(share)), others=source.others if n == rest else 0)
        for n, share in enumerate(shares)
    ]


def lpt(sizes: Mapping[bytes, int], names: Sequence[bytes], parts: int) -> list[list[bytes]]:
    """Assign each name, the largest first, to the part that is smallest so far (longest processing time first)."""
    out: list[list[bytes]] = [[] for _ in range(parts)]
    # The number of names decides between parts of the same size, so that empty directories do not pile up in one.
    heap = [(0, 0, n) for n in range(parts)]
    for name in sorted(names, key=lambda name: (-sizes.get(name, 0), name)):
        total, count, n = heapq.heappop(heap)
        out[n].append(name)
        heapq.heappush(heap, (total + sizes.get(name, 0), count + 1, n))
    return out


def _manifest_sizes(source: PreparedSource) -> dict[bytes, int]:
    from dataset_gen.truth import manifest as m  # brings pyarrow, which most commands do without

    assert source.manifest is not None
    table = m.read_manifest(source.manifest).select([m.CUSTODIAN, m.BYTES])
    sums = table.group_by(m.CUSTODIAN).aggregate([(m.BYTES, "sum")])
    by_name = dict(zip(sums[m.CUSTODIAN].to_pylist(), sums[f"{m.BYTES}_sum"].to_pylist(), strict=True))
    return {name: by_name.get(display_name(name)) or 0 for name in source.directories}


def _entry_counts(storage: Storage, source: PreparedSource) -> dict[bytes, int]:
    return {name: _entries(storage, os.path.join(source.path, name), deeper=True) for name in source.directories}


def _entries(storage: Storage, path: bytes, *, deeper: bool) -> int:
    try:
        with storage.listing(path, only=EntryKind.DIRECTORY) as listing:
            below = (e.name for e in chain.from_iterable(listing)) if deeper else ()
            return listing.count + sum(_entries(storage, os.path.join(path, name), deeper=False) for name in below)
    except SourceFileError:
        return 0  # the job will say so


def create_discovery_group(
    databases: Sequence[Database],
    storage: Storage,
    storage_root: Path,
    source: PreparedSource,
    plan: DiscoveryPlan,
    surroundings: Surroundings | None = None,
) -> Jobs:
    """Create a job in each database over `source`.

    All jobs, and copies of the source, exist before the first job starts. Raises UsageError for an impossible plan,
    StorageFault, DatabaseFault; then no job is running."""
    check_plan(shard=plan.shard, source_copies=plan.source_copies)
    identity = uuid.uuid4()
    called = plan.name or default_name(source)
    jobs: list[JobHandle] = []
    try:
        parts = _parts(databases, plan, storage, storage_root, identity, source)
        for database, part in zip(databases, parts, strict=True):
            one = dataclasses.replace(plan, name=f"{called} ({database.name})")
            around = surroundings
            if around is not None and plan.source_copies:  # copies are on the storage
                around = msgspec.structs.replace(around, source=None)
            job = create_discovery_job(database, storage, storage_root, part, one, group=identity, surroundings=around)
            jobs.append(JobHandle(database, database.ask(ledger_jobs.get_job, job)))
        group = _enter(databases[0], plan, identity, called, source, jobs)
    except BaseException:
        for handle in jobs:
            with contextlib.suppress(EdbenchError):  # it is paused and can be deleted by hand
                delete_job(handle, storage, storage_root)
        remove_copies(storage, storage_root, identity)
        raise
    release_group(group)
    return group


def _parts(
    databases: Sequence[Database],
    plan: DiscoveryPlan,
    storage: Storage,
    storage_root: Path,
    group: uuid.UUID,
    source: PreparedSource,
) -> list[PreparedSource]:
    """Return the source of each job: a part, a copy, or all of it."""
    if plan.shard:
        return split_source(storage, source, len(databases))
    if not plan.source_copies:
        return [source] * len(databases)
    return [copy_source(storage, storage_root, group, database.name, source) for database in databases]


def _enter(
    home: Database,
    plan: DiscoveryPlan,
    identity: uuid.UUID,
    name: str,
    source: PreparedSource,
    jobs: Sequence[JobHandle],
) -> Jobs:
    with home.transaction(durable=True) as conn:
        ledger_jobs.create_group(
            conn,
            id=identity,
            name=name,
            kind=GroupKind.SHARDED if plan.shard else GroupKind.SIMULTANEOUS,
            source=source.path,
            source_copies=len(jobs) if plan.source_copies else 1,
            members=[GroupMember(database=handle.database.name, job=handle.id) for handle in jobs],
        )
        (row,) = JOBS.find_groups(conn, prefix=identity.hex)
    return Jobs(tuple(jobs), home, row)


def release_group(group: Jobs) -> None:
    """Release all paused jobs of a group at the same moment: the commits come one right after the other."""
    with contextlib.ExitStack() as commits:
        for handle in group.each:
            conn = commits.enter_context(handle.database.transaction(durable=True))
            if ledger_jobs.get_job(conn, handle.id).state in (JobState.PAUSED, JobState.HELD, JobState.SUSPENDED):
                states.request_resume(conn, handle.id)


def resume_all(jobs: Jobs, *, attach: bool) -> JobState:
    """Resume a job, or the unfinished jobs of a group; return the state afterwards. See `resume_job` for `attach`.
    Raises UsageError if no job can be resumed."""
    if jobs.group is None:
        return resume_job(jobs.each[0], attach=attach)
    open_jobs = [handle for handle in refresh(jobs).each if not handle.job.state.over]
    if not open_jobs:
        raise UsageError(f"all jobs of group {jobs.id} have ended; there is nothing to resume")
    return group_state([resume_job(handle, attach=attach) for handle in open_jobs])


def refuse_member(databases: Sequence[Database], jobs: Jobs) -> None:
    """Raise UsageError for a single job of a group: it can only be deleted with the others."""
    if jobs.group is not None:
        return
    group_id = jobs.home.ask(ledger_jobs.summary, jobs.id).group_id
    if group_id is not None and find_group(databases, group_id.hex) is not None:
        raise UsageError(f"job {jobs.id} belongs to a group; remove all of it with `edbench job delete {group_id}`")


def clean_copies(jobs: Jobs, storage_root: Path) -> None:
    """Remove the copies of the source, if any, once all jobs are over. Raises StorageFault, DatabaseFault."""
    if jobs.copied and all(handle.job.state.over for handle in refresh(jobs).each):
        remove_copies(Storage(), storage_root, jobs.id)


def delete_all(jobs: Jobs, storage_root: Path) -> list[str]:
    """Delete a job with everything it wrote; for a group all jobs, the copies of the source, and the group's row. A
    repeated call continues where the first one stopped. Return a line for each job whose output directory keeps files,
    because no job wrote them. Raises UsageError while a job may still change, StorageFault, DatabaseFault."""
    storage = Storage()
    if jobs.group is None:
        return list(filter(None, [delete_job(jobs.each[0], storage, storage_root)]))
    for handle in refresh(jobs).each:
        if not (handle.job.state.over or handle.job.state in (JobState.PAUSED, JobState.SUSPENDED)):
            raise UsageError(f"group {jobs.id} is {handle.job.state}; end it first with `edbench job cancel {jobs.id}`")
    left = [delete_job(handle, storage, storage_root) for handle in jobs.each]
    remove_copies(storage, storage_root, jobs.id)
    with jobs.home.transaction(durable=True) as conn:
        JOBS.delete_group(conn, group=jobs.id)
    return list(filter(None, left))


def create_discovery(
    databases: Sequence[Database],
    storage: Storage,
    settings: Settings,
    source: PreparedSource,
    plan: DiscoveryPlan,
    *,
    workers: int,
    slots: int,
) -> Jobs:
    """Create the job, or with several databases the group of jobs; `workers` and `slots` (of each) are the planned
    numbers.

    Raises UsageError, StorageFault, DatabaseFault."""
    refuse_experiment(databases[0])
    plan = dataclasses.replace(plan, workers=workers, slots=slots)
    around = surroundings_of(settings, source.path)
    if len(databases) > 1:
        return create_discovery_group(databases, storage, settings.storage, source, plan, around)
    job = create_discovery_job(databases[0], storage, settings.storage, source, plan, surroundings=around)
    return alone(JobHandle(databases[0], databases[0].ask(get_job, job)))
