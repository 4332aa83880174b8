"""A replay as a job: its trace where every worker can read it, one task per client, and what the clients found.

The clients of one clone share memory, so they run on one host. The files of a replay are removed in any case, unless kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.databases import JobHandle
from controller.filer import filer_choice, watched_filer
from controller.jobs.directories import hand_over
from controller.jobs.jobs import job_directory, settle_job
from controller.jobs.progress import Snapshot
from controller.jobs.results import job_result
from controller.jobs.run import Crew, Outcome, Tended, crew_of, run_all_to_rest
from controller.labels.rules import surroundings_of
from core.clock import Clock
from core.errors import DatabaseFault, Interrupted, RunFailed, StorageFault, UsageError
from core.operations import NullRecorder
from core.places import replayed_trace_location
from core.records import JobOptions, JobState, NewTask, Phase, ReplayChoice
from core.settings import Settings
from core.storage.layer import Storage
from replay.host import plan_of, replay_host, target_of
from replay.orders import ReplayOrder, default_name
from replay.program import Program
from replay.tally import ClientResult, Difference, merge_results
from replay.tree import Target, check_room, remove_trees
from sql import jobs as ledger_jobs
from sql import replay
from sql.replay import ReplayClient, Seats
from sql.session import Database
from sql.states import request_cancel
from traces.file import FileTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """A replay that is over."""

    began: float  # the start of all, seconds since the epoch by the database's clock
    prepared_s: float  # from the first client's claim to the last one's being ready
    run_queue_s: float  # that clients waited for a CPU, summed
    result: ClientResult  # merged


def clients_of(handle: JobHandle) -> Sequence[ReplayClient]:
    """What each client left. Raises DatabaseFault."""
    with handle.database.transaction() as conn:
        return replay.clients(conn, handle.id)


def outcome_of(clients: Sequence[ReplayClient], what: str) -> ReplayOutcome:
    """All of `what`'s clients together; raises RunFailed when one has no result."""
    results = [client.result for client in clients if client.result is not None]
    if not results or len(results) < len(clients):
        raise RunFailed(f"{what}: {len(clients) - len(results)} clients have no result; replay again")
    taken = [client.taken for client in clients if client.taken is not None]
    ready = [client.ready for client in clients if client.ready is not None]
    return ReplayOutcome(
        began=min(float(result["start"]) for result in results),
        prepared_s=max(ready) - min(taken),
        run_queue_s=sum(float(result["run_queue_s"]) for result in results),
        result=merge_results(ClientResult.from_json(result["found"]) for result in results),
    )


def dropped_by(clients: Iterable[ReplayClient]) -> tuple[Mapping[str, Any], ...]:
    """What each client dropped before the calls, of those that did."""
    results = (client.result or {} for client in clients)
    return tuple(result["dropped"] for result in results if result.get("dropped"))


def difference_text(difference: Difference) -> str:
    """`open: recorded ENOENT, replayed OK`."""
    if difference.expected == difference.found:
        return f"{difference.op.label}: fewer bytes than recorded"
    return f"{difference.op.label}: recorded {_name(difference.expected)}, replayed {_name(difference.found)}"


def _name(number: int) -> str:
    return errno.errorcode.get(number, str(number)) if number else "OK"


def create_replay(
    database: Database,
    storage: Storage,
    settings: Settings,
    job: uuid.UUID,
    order: ReplayOrder,
    options: JobOptions,
    hosts: Sequence[str],
    crew: Crew,
) -> JobHandle:
    """A running job with a task for each client, in one durable transaction. `options`: with `replay` in them; `hosts`: of each
    client.

    Its source is the first target path: a worker that does not see it reports that. Raises StorageFault, DatabaseFault,
    UsageError when the trace cannot be read.
    """
    storage_root = settings.storage
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.mkdir(job_directory(storage_root, job))
    hand_over(job_directory(storage_root, job), storage_root)
    copy = os.path.join(os.fsencode(storage_root), replayed_trace_location(job))
    try:
        storage.copy_in(os.fspath(order.trace), copy)
    except StorageFault as error:
        raise StorageFault(f"the trace {order.trace} cannot be copied to the storage root: {error}") from error
    hand_over(copy, storage_root)
    target = os.fsencode(order.paths[0])
    try:
        device, inode = storage.root_identity(target)
    except StorageFault as error:
        raise UsageError(f"--path {order.paths[0]}: {error}") from error
    with database.transaction(durable=True) as conn:
        ledger_jobs.create_job(
            conn,
            ledger_jobs.NewJob(
                id=job,
                name=order.name,
                client="",
                project="",
                source=target,
                device=device,
                inode=inode,
                storage=os.path.abspath(os.fsencode(storage_root)),
                options=options,
                custodians=[],
                tasks=[NewTask(phase=Phase.REPLAY, weight=1, payload={})] * options.of(ReplayChoice).clients,
                workers=crew.workers,
                slots=crew.slots,
                surroundings=surroundings_of(settings, target, order.paths[0]).to_json(),
            ),
        )
        replay.add_clients(conn, job, hosts)
    with database.transaction() as conn:
        return JobHandle(database, ledger_jobs.get_job(conn, job))


def hosts_of(clones: Sequence[int], seats: Sequence[Seats]) -> list[str]:
    """The host of each client's host, by client. `clones`: how many clients each clone has, in order of clients.

    The largest clones are placed first, each on the host with the most slots left. Raises UsageError when one does
    not fit on any host.
    """
    free = {seat.host: seat.slots for seat in seats}
    chosen: dict[int, str] = {}
    for clone in sorted(range(len(clones)), key=lambda number: (-clones[number], number)):
        best = max(free, key=lambda host: free[host], default=None)
        if best is None or free[best] < clones[clone]:
            most = max((seat.slots for seat in seats), default=0)
            raise UsageError(
                f"--clients {sum(clones)} needs {clones[clone]} slots on one host for each clone of the trace, and the"
                f" live workers' hosts have {_listed(seats)} in all (at most {most} on one):"
                " start more slots, or replay with fewer clients"
            )
        free[best] -= clones[clone]
        chosen[clone] = best
    return [chosen[number] for number, clients in enumerate(clones) for _ in range(clients)]


def _listed(seats: Sequence[Seats]) -> str:
    return " + ".join(str(seat.slots) for seat in seats) or "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where replays take place, and the functions that show their progress."""

    settings: Settings  # with services attached
    database: Database
    clock: Clock
    show: Callable[[Snapshot, float], None]
    say: Callable[[str], None]
    cluster: Tended | None = None  # of the workers; None: others look after them


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One replay that completed."""

    job: uuid.UUID
    program: Program
    clients: Sequence[ReplayClient]  # what each left
    result: dict[str, object]  # as `edbench job show -o json` has it


def replay_once(stage: Stage, trace: FileTrace, order: ReplayOrder, clients: int) -> Replayed:
    """Check, prepare and play on the workers that are live, then report. Raises UsageError before anything is made, StorageFault,
    DatabaseFault, RunFailed in one line when a client died or the replay was ended by another command, Interrupted."""
    job = uuid.uuid4()
    choice = order.choice(clients)
    order = order if order.name else dataclasses.replace(order, name=default_name(trace.header, order.trace))
    options = JobOptions(of_type=choice, filer=filer_choice(stage.settings))
    with stage.database.transaction() as conn:
        seats = replay.seats(conn)
    hosts = hosts_of([len(clone.clients) for clone in plan_of(trace.header, choice).clones], seats)
    workers, slots = crew_of(stage.database)
    crew = Crew(settings=stage.settings, ours=False, workers=workers, slots=slots, env={}, cluster=stage.cluster)
    with replay_host(stage.settings.scratch, job) as host:
        program = host.program(order.trace, choice, lambda: None)
        check_room(program, order.paths, not_empty=order.not_empty)
        target = target_of(job, choice)
        handle = create_replay(
            stage.database, Storage(NullRecorder()), stage.settings, job, order, options, hosts, crew
        )
        try:
            outcome, beside = _to_rest(stage, handle, crew)
            _judge(outcome)
            left = clients_of(handle)
            outcome_of(left, f"job {job}")
        finally:
            clear(stage, handle, target, keep=order.keep)
        result = job_result(handle, stage.settings, calls_complete=outcome.calls_complete).beside(beside)
        return Replayed(job=job, program=program, clients=left, result=result.to_json())


def _to_rest(stage: Stage, handle: JobHandle, crew: Crew) -> tuple[Outcome, dict[str, object]]:
    with watched_filer(stage.settings) as filer:
        (outcome,) = run_all_to_rest([handle], crew, stage.clock, stage.show, stage.say)
        return outcome, filer.figures()


def _judge(outcome: Outcome) -> None:
    """Raises for everything but a replay that went through: it is not resumed, its time would be wrong."""
    if outcome.state is JobState.COMPLETED:
        return
    if outcome.interrupted:
        raise Interrupted("the replay was stopped; it is not resumed, because its time would be wrong")
    if outcome.state is JobState.SUSPENDED:
        raise RunFailed(f"the replay ended: {outcome.reason}")
    raise RunFailed(f"the replay was {outcome.state} by another command; it is not resumed: replay again")


def clear(stage: Stage, handle: JobHandle, target: Target, *, keep: bool) -> None:
    """End the job if it has not ended, and remove the files, also where the database is away."""
    try:
        with stage.database.transaction(durable=True) as conn, contextlib.suppress(UsageError):  # it is over
            request_cancel(conn, handle.id)
        settle_job(handle, stage.clock)
    except DatabaseFault as error:
        stage.say(f"job {handle.id} could not be stopped ({error}); `edbench job cancel {handle.id}` stops it")
    if keep:
        for home in target.homes():
            stage.say(f"kept: {home}")
        return
    try:
        remove_trees(target)
    except StorageFault as error:
        stage.say(f"not everything was removed: {error}")
