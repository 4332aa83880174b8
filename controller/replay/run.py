"""One replay from the first look at its paths to what it found; whatever comes, its files go (unless kept)."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from controller.cluster.base import Tended
from controller.databases import JobHandle
from controller.filer.choice import filer_choice
from controller.filer.emulated import watched_filer
from controller.jobs.jobs import settle_job
from controller.jobs.progress import Snapshot
from controller.jobs.results import job_result
from controller.jobs.run import Crew, Outcome, crew_of, run_all_to_rest
from controller.replay.create import ReplayCrew, create_replay
from controller.replay.hosts import hosts_of
from controller.replay.order import ReplayOrder, default_name
from controller.replay.outcome import ReplayOutcome, clients_of, outcome_of
from core.clock import Clock
from core.errors import DatabaseFault, Interrupted, RunFailed, StorageFault, UsageError
from core.operations import NullRecorder
from core.records import JobOptions, JobState
from core.settings import Settings
from core.storage.layer import Storage
from monitoring.filer.block import boot_id
from replay.host import plan_of, replay_host, target_of
from replay.plan import ReplayPlan
from replay.program import Program
from replay.room import check_room
from replay.tree import Target, remove_trees
from sql import replay
from sql.replay import ReplayClient
from sql.session import Database
from sql.states import request_cancel
from traces.read import FileTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where replays take place, and who is told about them."""

    settings: Settings  # with services attached
    database: Database
    ours: bool  # workers are ours to start
    workers: int  # to start, over which the clients are spread
    env: Mapping[str, str]
    clock: Clock
    show: Callable[[Snapshot, float], None]
    say: Callable[[str], None]
    cluster: Tended | None = None  # of workers that are up already


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One replay that completed."""

    job: uuid.UUID
    program: Program
    clients: Sequence[ReplayClient]  # what each left
    outcome: ReplayOutcome  # all of them together
    result: dict[str, object]  # as `edbench job show -o json` has it


def replay_once(stage: Stage, trace: FileTrace, order: ReplayOrder, clients: int) -> Replayed:
    """Check, prepare, play, tell. Raises UsageError before anything is made, StorageFault, DatabaseFault, RunFailed in
    one line when a client died or the replay was ended by somebody, Interrupted."""
    job = uuid.uuid4()
    choice = order.choice(clients)
    order = order if order.name else dataclasses.replace(order, name=default_name(trace.header, order.trace))
    options = JobOptions(of_type=choice, filer=filer_choice(stage.settings))
    plan = plan_of(trace.header, choice)
    crew, hosts = _crew(stage, plan)
    with replay_host(stage.settings.scratch, job) as host:
        program = host.program(order.trace, choice, lambda: None)
        check_room(program, order.paths, force=order.force)
        target = target_of(job, choice)
        planned = ReplayCrew(hosts=hosts, workers=crew.workers, slots=crew.slots)
        storage = Storage(NullRecorder())
        handle = create_replay(stage.database, storage, stage.settings, job, order, options, planned)
        try:
            outcome, beside = _to_rest(stage, handle, crew)
            _judge(outcome)
            clients_left = clients_of(handle)
            played = outcome_of(clients_left, f"job {job}")
        finally:
            clear(stage, handle, target, keep=order.keep)
        return Replayed(
            job=job,
            program=program,
            clients=clients_left,
            outcome=played,
            result=job_result(handle, stage.settings, calls_complete=outcome.calls_complete).beside(beside).to_json(),
        )


def _crew(stage: Stage, plan: ReplayPlan) -> tuple[Crew, list[str]]:
    """Workers with a slot for each client, and each client's host. Raises UsageError when others' are too few."""
    sizes = [len(clone.clients) for clone in plan.clones]
    if stage.ours:
        workers = min(stage.workers, plan.clients)
        slots = -(-plan.clients // workers)
        here = replay.host_key(boot_id(), socket.gethostname())
        return _made(stage, workers, slots), [here] * plan.clients
    with stage.database.transaction() as conn:
        seats = replay.seats(conn)
    hosts = hosts_of(sizes, seats)
    return _made(stage, *crew_of(stage.database)), hosts


def _made(stage: Stage, workers: int, slots: int) -> Crew:
    return Crew(
        settings=stage.settings, ours=stage.ours, workers=workers, slots=slots, env=stage.env, cluster=stage.cluster
    )


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
