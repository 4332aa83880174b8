"""The discrete-event simulation: jobs on a site, in virtual time. The same arguments give the same events on every
machine.

A slot works on its task in chunks of items: it computes (a core of its worker, which shares its host's cores), then
waits for the filer's unit FSA, then for FSB and the network together, then, if the site commits each item, for its
database server. Units and servers are FIFO queues of equal servers; a host's cores are shared equally by all that run
on them. Queue manager and barrier are the product's own functions."""

from __future__ import annotations

import heapq
import itertools
import random
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.celery_app import own_first, takes_turns
from core.records import JobState, Phase
from queue_manager.dispatcher import fair_share, order_key, turns
from queue_manager.manager import AFTER_SENDING_SECONDS
from queue_manager.window import MOST_FACTOR, Window, shares, widened
from simulate.site import Site, placed
from simulate.tasks import (
    CPU,
    DATABASE,
    DATABASE_IO,
    DISK_READS,
    DISK_WRITES,
    FSA_OPS,
    FSA_S,
    FSB_OPS,
    FSB_S,
    MOST_TASKS,
    NET_BYTES,
    WAIT_S,
    JobLoad,
    Task,
)
from sql.states import TASKS_A_SLOT, Demand, cut_into, tasks_wanted
from worker.phases.rest import EVERY_SECONDS

MINUTE = 60.0
Span = tuple[Phase, float, float]  # begin and end of a job's phase, in seconds
_LEAST = {Phase.WALK: 1 << 60, Phase.FINALISE: 1}  # entries of a part, as sql.states has them; others 16


class Bins:
    """An amount by minute."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, begin: float, end: float, amount: float) -> None:
        """Distribute an amount evenly over begin … end."""
        values = self.values
        first, last = int(begin / MINUTE), int(end / MINUTE)
        while len(values) <= last:
            values.append(0.0)
        if first == last or end <= begin:
            values[first] += amount
            return
        rate = amount / (end - begin)
        values[first] += ((first + 1) * MINUTE - begin) * rate
        for n in range(first + 1, last):
            values[n] += MINUTE * rate
        values[last] += (end - last * MINUTE) * rate


class Servers:
    """Equal servers with one queue, first come first served."""

    __slots__ = ("busy", "free")

    def __init__(self, servers: int) -> None:
        self.free = [0.0] * servers
        self.busy = Bins()

    def book(self, now: float, service: float) -> float:
        """Book work that arrives now; return when it is over."""
        begin = self.free[0]
        if begin < now:
            begin = now
        end = begin + service
        heapq.heapreplace(self.free, end)
        self.busy.add(begin, end, service)
        return end


class _Host:
    """Cores that all running work shares equally, at most one for each."""

    __slots__ = ("at", "busy", "cores", "crowding", "ghz", "running", "served", "version")

    def __init__(self, cores: float, ghz: float, crowding: float) -> None:
        self.cores, self.ghz, self.crowding = cores, ghz, crowding
        self.running: list[tuple[float, int, _Slot]] = []  # by the value of `served` at which each is over
        self.served = 0.0  # GHz seconds received by work that runs all the time
        self.at, self.version = 0.0, 0
        self.busy = Bins()

    def advance(self, now: float) -> None:
        """Serve until now."""
        number = len(self.running)
        if number and now > self.at:
            used = min(number, self.cores)
            self.served += (now - self.at) * self.ghz * used / number / self._longer(used, number)
            self.busy.add(self.at, now, (now - self.at) * used)
        self.at = now

    def next_end(self) -> float:
        """The time at which the first work is over, if nothing changes until then."""
        number = len(self.running)
        used = min(number, self.cores)
        rate = self.ghz * used / number / self._longer(used, number)
        return self.at + max(0.0, self.running[0][0] - self.served) / rate

    def _longer(self, used: float, number: int) -> float:
        """Factor by which work takes longer on a core than it would alone."""
        return 1.0 + self.crowding * (number / used - 1.0)


@dataclass(slots=True, eq=False)
class _Worker:
    host: _Host
    free: int  # cores
    waiting: deque[_Slot] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Slot:
    worker: _Worker
    databases: list[int]  # in the order in which it looks for tasks
    task: Task | None = None
    job: _Job | None = None
    demand: Sequence[float] = ()  # of the task, by column
    chunks: int = 0  # left
    share: float = 1.0  # of the demand, in each chunk
    looked: float = 0.0  # when it began, or last looked for slots without work
    begun: set[Phase] = field(default_factory=set)  # phases that it has worked in


@dataclass(slots=True, eq=False)
class _Job:
    load: JobLoad
    ident: uuid.UUID
    phase: int = 0
    now: Phase = Phase.WALK
    pending: list[tuple[tuple[int, int], int, Task]] = field(default_factory=list)
    dispatched: int = 0
    running: int = 0
    began: float = 0.0
    ended: float = 0.0
    spans: list[Span] = field(default_factory=list)
    seen: Demand | None = None  # at the last poll

    def demand(self, limit: int) -> Demand:
        """The job as the dispatcher sees it."""
        seen, pending = self.seen, min(limit, len(self.pending))
        if (
            seen is None or seen.running != self.running or seen.dispatched != self.dispatched
            or seen.pending != pending or seen.phase is not self.now
        ):  # fmt: skip
            options = self.load.options
            self.seen = seen = Demand(
                job=self.ident, state=JobState.RUNNING, phase=self.now, dispatched=self.dispatched, running=self.running,
                pending=pending, most_out=options.at_a_time(self.now) or 0, window_factor=options.window_factor or 0,
                reserve_slots=options.reserve_slots or 0, client=self.load.client, type=options.type.value,
                priority=options.priority,
            )  # fmt: skip
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The events of a run, by minute."""

    elapsed_s: float
    jobs: tuple[tuple[Span, ...], ...]
    fsa_ops: Sequence[float]
    fsb_ops: Sequence[float]
    fsa_busy: Sequence[float]  # seconds of servers
    fsb_busy: Sequence[float]
    network_busy: Sequence[float]
    database_busy: tuple[Sequence[float], ...]
    dispatcher_busy: tuple[Sequence[float], ...]
    database_io: Sequence[float]
    host_busy: tuple[Sequence[float], ...]
    disk_reads: Sequence[float]  # commands of the data's disks
    disk_writes: Sequence[float]
    dispatched: tuple[int, ...]  # ids of tasks in the order in which they were sent, where it was asked for


_SENT, _HOST, _FSA, _DATA, _STORED, _LOOK, _COMES = range(7)


class Engine:
    """One run. `chunk`: items that are served together; 1 serves each item alone. `dice`: service times are drawn from
    it. `most_tasks`: number of tasks that a phase is cut into; with more, one represents several."""

    def __init__(
        self, site: Site, jobs: Sequence[JobLoad], *, workers: int, databases: int, chunk: float = 25.0,
        dice: random.Random | None = None, note_order: bool = False, most_tasks: int = MOST_TASKS,
    ) -> None:  # fmt: skip
        self._site, self._chunk = site, chunk
        self._dice = dice
        self._hosts = [_Host(host.cores, host.ghz, site.crowding) for host in site.hosts]
        crew = [_Worker(self._hosts[at], site.worker_cores) for at in placed(site, workers)]
        self._slots = workers * site.slots
        self._takes_turns = takes_turns(databases, site.slots)
        orders = [own_first(range(databases), slot, site.slots) for slot in range(site.slots)]
        self._idle = deque(_Slot(worker, order) for order in orders for worker in crew)
        self._fsa, self._fsb = Servers(site.fsa.servers), Servers(site.fsb.servers)
        self._network = Servers(1)
        self._fsb_s = site.fsb.service_us / 1e6
        self._trip_s = site.round_trip_us / 1e6
        self._databases = [Servers(site.databases[n % len(site.databases)].cores) for n in range(databases)]
        self._database_ghz = [site.databases[n % len(site.databases)].ghz for n in range(databases)]
        self._jobs = [_Job(load, uuid.UUID(int=number + 1)) for number, load in enumerate(jobs)]
        self._of: list[list[_Job]] = [[] for _ in range(databases)]  # jobs that have begun and are not over
        self._by_ident = {job.ident: job for job in self._jobs}
        self._followers: dict[int, list[_Job]] = {}  # by the number of the job that they follow
        self._windows = [Window() for _ in range(databases)]
        self._wants: dict[str, int] = {}
        self._dispatchers = [Servers(1) for _ in range(databases)]
        self._brokers: list[deque[tuple[_Job, Task]]] = [deque() for _ in range(databases)]
        self._waiting = 0  # messages at all brokers
        self._most_parts = most_tasks // max(1, len(jobs))
        self._events: list[tuple[float, int, int, Any]] = []
        self._count = itertools.count()
        self._look_due = [False] * databases
        self._bins = {name: Bins() for name in ("fsa", "fsb", "io", "reads", "writes")}
        self._order: list[int] | None = [] if note_order else None

    def run(self) -> Trace:
        """Run until the last job has ended."""
        for job in self._jobs:
            if job.load.after is not None:
                self._followers.setdefault(job.load.after, []).append(job)
            elif job.load.at_s:
                self._push(job.load.at_s, _COMES, job)
            else:
                self._come(job, 0.0)
        for database in range(len(self._databases)):
            self._look(database, 0.0)
        events = self._events
        while events:
            now, _, what, subject = heapq.heappop(events)
            if what == _HOST:
                host, version = subject
                if host.version == version:
                    self._computed(host, now)
            elif what == _FSA:
                self._on_fsb(subject, now)
            elif what == _DATA:
                self._store(subject, now)
            elif what == _STORED:
                self._chunk_done(subject, now)
            elif what == _SENT:
                self._brokers[subject[0].load.database].append(subject)
                self._waiting += 1
                self._claim(now)
            elif what == _LOOK:
                self._look_due[subject] = False
                self._look(subject, now)
            elif what == _COMES:
                self._come(subject, now)
                self._look(subject.load.database, now)
        return self._trace()

    def _push(self, at: float, what: int, subject: Any) -> None:
        heapq.heappush(self._events, (at, next(self._count), what, subject))

    # The queue manager

    def _come(self, job: _Job, now: float) -> None:
        self._of[job.load.database].append(job)
        self._enter(job, now)

    def _enter(self, job: _Job, now: float) -> None:
        """Begin the phase; as in `sql.states`, its tasks are cut finer if there are too few for the slots."""
        job.now, tasks = job.load.phases[job.phase]
        most = job.load.options.at_a_time(job.now)
        slots = self._slots if most is None else min(self._slots, most)
        if sum(task.represents for task in tasks) < TASKS_A_SLOT * slots and job.now is not Phase.WALK:
            total, least = sum(task.weight * task.represents for task in tasks) or 1, _LEAST.get(job.now, 16)
            wanted = tasks_wanted(slots, total)
            tasks = tuple(part for task in tasks for part in _parts(task, wanted, total, least, self._most_parts))
        job.pending = [(order_key(task, job.load.options.task_order), next(self._count), task) for task in tasks]
        heapq.heapify(job.pending)
        job.began = now

    def _ask_look(self, database: int, now: float) -> None:
        if not self._look_due[database]:
            self._look_due[database] = True
            self._push(now + AFTER_SENDING_SECONDS, _LOOK, database)

    def _look(self, database: int, now: float) -> None:
        """Do the work of the dispatcher: barriers, then tasks within the window."""
        for job in self._of[database]:
            while not job.pending and not job.dispatched and not job.running and job.phase < len(job.load.phases):
                job.spans.append((job.now, job.began, now))
                job.ended = now
                job.phase += 1
                if job.phase < len(job.load.phases):
                    self._enter(job, now)
                else:
                    for follower in self._followers.get(job.ident.int - 1, ()):
                        self._push(now + follower.load.at_s, _COMES, follower)
        active = [job for job in self._of[database] if job.phase < len(job.load.phases)]
        self._of[database] = active
        demands = [job.demand(max(1, self._slots * MOST_FACTOR)) for job in active]
        window = widened(self._windows[database].size(self._slots), self._slots, demands)
        self._wants[str(database)] = sum(one.pending + one.dispatched + one.running for one in demands)
        share = shares(fair_share(str(database), self._wants, window), demands, self._slots)
        sent = []
        for ident, number in share.items():
            job = self._by_ident[ident]
            sent.append([(job, heapq.heappop(job.pending)[2]) for _ in range(number)])
            job.dispatched += number
        rate = self._site.dispatched_per_s
        for message in itertools.chain.from_iterable(turns(sent)):
            if rate:
                self._push(self._dispatchers[database].book(now, message[1].represents / rate), _SENT, message)
            else:
                self._brokers[database].append(message)
                self._waiting += 1
            if self._order is not None:
                self._order.append(message[1].id)
        self._windows[database].note_sent(sum(map(len, sent)), now)
        self._claim(now)

    def _claim(self, now: float) -> None:
        """Give messages to idle slots, each from its own database first."""
        while self._waiting and self._idle:
            slot = self._idle.popleft()
            queue = next(queue for n in slot.databases if (queue := self._brokers[n]))
            if self._takes_turns:
                slot.databases.append(slot.databases.pop(0))
            job, task = queue.popleft()
            self._waiting -= 1
            job.dispatched -= 1
            job.running += 1
            slot.job, slot.task = job, task
            slot.chunks = max(1, round(task.items / self._chunk))
            slot.share = 1.0 / slot.chunks
            slot.demand = _with_own(slot, job, task)
            slot.looked = now
            self._compute(slot, now)

    def _finish(self, slot: _Slot, now: float) -> None:
        job, task = slot.job, slot.task
        assert job is not None
        assert task is not None
        for follow in task.follow:
            key = order_key(follow, job.load.options.task_order)
            heapq.heappush(job.pending, (key, next(self._count), follow))
        job.running -= 1
        slot.job = slot.task = None
        self._idle.append(slot)
        self._ask_look(job.load.database, now)
        self._claim(now)

    # A slot's chunk

    def _drawn(self, mean: float) -> float:
        return mean if self._dice is None else self._dice.expovariate(1.0) * mean

    def _compute(self, slot: _Slot, now: float) -> None:
        worker = slot.worker
        if worker.free:
            worker.free -= 1
            self._run_on(worker.host, slot, now)
        else:
            worker.waiting.append(slot)

    def _run_on(self, host: _Host, slot: _Slot, now: float) -> None:
        host.advance(now)
        work = self._drawn(slot.demand[CPU] * slot.share)
        heapq.heappush(host.running, (host.served + work, next(self._count), slot))
        host.version += 1
        self._push(host.next_end(), _HOST, (host, host.version))

    def _computed(self, host: _Host, now: float) -> None:
        host.advance(now)
        slot = heapq.heappop(host.running)[2]
        worker = slot.worker
        if worker.waiting:
            self._run_on(host, worker.waiting.popleft(), now)
        else:
            worker.free += 1
            host.version += 1
            if host.running:
                self._push(host.next_end(), _HOST, (host, host.version))
        ops = slot.demand[FSA_OPS] * slot.share
        service = self._drawn(slot.demand[FSA_S] * slot.share)
        end = self._fsa.book(now, service)
        self._bins["fsa"].add(end - service, end, ops)
        self._push(end, _FSA, slot)

    def _on_fsb(self, slot: _Slot, now: float) -> None:
        demand, share = slot.demand, slot.share
        ops = demand[FSB_OPS] * share
        service = self._drawn(demand[FSB_S] * share)
        end = self._fsb.book(now, service)
        self._bins["fsb"].add(end - service, end, ops)
        self._bins["reads"].add(now, end, demand[DISK_READS] * share)
        self._bins["writes"].add(now, end, demand[DISK_WRITES] * share)
        if self._site.bytes_per_s:
            end = max(end, self._network.book(now, demand[NET_BYTES] * share / self._site.bytes_per_s))
        waits = demand[WAIT_S] * share + (ops + demand[FSA_OPS] * share) * self._trip_s
        self._push(end + waits, _DATA, slot)

    def _store(self, slot: _Slot, now: float) -> None:
        """Write to the database: each item's rows, or all of them with the task's last chunk."""
        share = slot.share if self._site.commit_per_item else float(slot.chunks == 1)
        if not share:
            self._chunk_done(slot, now)
            return
        database = slot.job.load.database  # type: ignore[union-attr]
        demand = slot.demand
        service = self._drawn(demand[DATABASE] * share / self._database_ghz[database])
        end = self._databases[database].book(now, service)
        io = demand[DATABASE_IO] * share
        self._bins["io"].add(end - service, end, io)
        if self._site.database_on_filer:
            self._fsb.book(now, io * self._fsb_s)
            self._bins["fsb"].add(now, end, io)
        self._push(end, _STORED, slot)

    def _chunk_done(self, slot: _Slot, now: float) -> None:
        slot.chunks -= 1
        if slot.chunks and not self._given_away(slot, now):
            self._compute(slot, now)
        else:
            self._finish(slot, now)

    def _given_away(self, slot: _Slot, now: float) -> bool:
        """Cut what is left of a task for slots without work, as `worker.phases.rest` does, but however short the parts
        are; return whether it was."""
        job, task = slot.job, slot.task
        assert job is not None
        assert task is not None
        if job.now is not Phase.EXPAND or slot.chunks < 2 or task.represents > 1 or now - slot.looked < EVERY_SECONDS:
            return False
        slot.looked = now
        host = slot.worker.host
        if job.pending or job.dispatched or not self._idle or len(host.running) > host.cores:
            return False
        if job.load.options.at_a_time(job.now) is not None:
            return False
        parts = min(slot.chunks, len(self._idle) + 1)
        each = slot.chunks * slot.share / parts
        for _ in range(parts):
            items, demand = max(1, round(task.items * each)), [one * each for one in task.demand]
            part = Task(int(task.weight * each), task.id, items, demand)
            heapq.heappush(job.pending, (order_key(part, job.load.options.task_order), next(self._count), part))
        return True

    def _trace(self) -> Trace:
        bins = self._bins
        return Trace(
            elapsed_s=max(job.ended for job in self._jobs),
            jobs=tuple(tuple(job.spans) for job in self._jobs),
            fsa_ops=bins["fsa"].values, fsb_ops=bins["fsb"].values,
            fsa_busy=self._fsa.busy.values, fsb_busy=self._fsb.busy.values, network_busy=self._network.busy.values,
            database_busy=tuple(one.busy.values for one in self._databases), database_io=bins["io"].values,
            dispatcher_busy=tuple(one.busy.values for one in self._dispatchers),
            host_busy=tuple(host.busy.values for host in self._hosts),
            disk_reads=bins["reads"].values, disk_writes=bins["writes"].values,
            dispatched=tuple(self._order or ()),
        )  # fmt: skip


def _with_own(slot: _Slot, job: _Job, task: Task) -> Sequence[float]:
    """The demand of the items of a task, of the task itself, and of a slot's first one."""
    own = job.load.each_task.get(job.now)
    if own is None:
        return task.demand
    many = task.represents
    demand = [a + b * many for a, b in zip(task.demand, own, strict=True)]
    if job.now not in slot.begun:
        slot.begun.add(job.now)
        return [a + b for a, b in zip(demand, job.load.each_slot[job.now], strict=True)]
    return demand


def _parts(task: Task, wanted: int, total: int, least: int, most: int) -> list[Task]:
    """Cut the task into parts, its entries dealt out in turn; the first keeps its id and the tasks that follow it.

    All tasks, of this `total` weight, become about `wanted` tasks of the product, simulated as at most `most`: a part
    represents several."""
    entries, weight = task.entries, task.weight * task.represents
    real = cut_into(task.items if entries is None else len(entries), round(wanted * weight / total), least)
    real = max(real, task.represents)
    number = min(real, max(1, most * weight // total))
    equal = [one / number for one in task.demand]
    return [
        Task(
            task.weight // number,
            task.id,
            max(1, task.items // number),
            equal if entries is None or number == 1 else entries[n::number].sum(axis=0).tolist(),
            task.follow if n == 0 else (),
            real * (n + 1) // number - real * n // number,
        )
        for n in range(number)
    ]
