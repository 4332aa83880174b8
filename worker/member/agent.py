"""The agent of a member: reports once a second that the member is there, and executes the controller's orders.

It is a process of its own below the crowd (worker.crowd), which has no connection to anything and forks the workers:
the agent sends it the plans. A member that works for a run returns to the system's own jobs when it is ordered to, when
the command that leased it is gone, and when the broker does not answer for as long.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil
import redis

from core.crew import (
    ALIVE_SECONDS,
    BEAT_SECONDS,
    CLIENTS_MODULE,
    LEASED,
    MEMBER,
    MEMBERS,
    OF_MEMBER,
    OWNER_MODULE,
    REPLAY_MODULE,
    Act,
    Clock,
    Drop,
    Hello,
    Lease,
    Look,
    MemberOrder,
    Meters,
    Place,
    Play,
    Return,
    Sight,
    Used,
    resolved,
    roots_of,
    wait_for,
)
from core.crew import Clients as ClientsOrder
from core.crew import Replay as ReplayOrder
from core.errors import EdbenchError, StorageFault, SystemFault, UsageError
from core.extensions import installed_version
from core.filer.model import profile_names
from core.orders import OrderTaker
from core.program import Stop
from core.residency import drop_pages, regular_files
from core.services.process import LineProcess, answers
from core.settings import Settings
from monitoring.broker import connect
from monitoring.control_groups import ControlGroups
from monitoring.machine import WorkerMeter, below, host, host_seconds, place, processors, usable_processors
from monitoring.metrics import NOWHERE
from monitoring.observations import BlockIo, of_group, of_processes
from monitoring.wire import WireSampler
from sql.runs import RunMark, run_settings
from worker.member.remount import Remounts
from worker.supervisor import WorkerPlan

_LOOPBACK = "lo"


class MemberMeter:
    """From its making to `read`; `look` once a second in between, for peaks and for processes that end."""

    def __init__(self, storage: Path, crowd: int) -> None:
        """`crowd`: the process whose descendants the workers are."""
        self._crowd = crowd
        self._contained = crowd == 1
        self._wire = WireSampler(storage)
        self._workers = WorkerMeter(crowd, but=(os.getpid(),))
        self._began = time.monotonic()
        self._busy = host_seconds()[0]
        self._net, self._nfs, self._block = _network(), self._mounted(), self._block_io()
        self._least = psutil.virtual_memory().available
        self._peak = 0
        self._cpu = self._workers.read()
        self.used = Used(at=time.time())

    def look(self) -> None:
        """Costs some milliseconds."""
        self._least = min(self._least, psutil.virtual_memory().available)
        self._peak = max(self._peak, self._memory())
        cpu, waited = self._workers.read()
        self.used = Used(at=time.time(), cpu_s=cpu - self._cpu[0], waited_s=waited - self._cpu[1])

    def read(self) -> Meters:
        """Everything up to now."""
        self.look()
        received, sent = _network()
        block = self._block_io()
        moved = (None, None) if block is None or self._block is None else (
            block.read - self._block.read, block.written - self._block.written)  # fmt: skip
        return Meters(
            seconds=round(time.monotonic() - self._began, 3),
            processors=usable_processors(),
            busy_s=round(host_seconds()[0] - self._busy, 2),
            workers_cpu_s=round(self.used.cpu_s, 3),
            workers_waited_s=round(self.used.waited_s, 3),
            memory_peak_bytes=self._peak,
            least_available_bytes=self._least,
            received_bytes=received - self._net[0],
            sent_bytes=sent - self._net[1],
            block_read_bytes=moved[0],
            block_write_bytes=moved[1],
            block_source=None if block is None else block.source,
            nfs={name: count - self._nfs.get(name, 0) for name, count in self._mounted().items()},
        )

    def _pids(self) -> Sequence[int]:
        own = os.getpid()
        return [pid for pid in below(self._crowd) if pid != own]

    def _memory(self) -> int:
        if self._contained and (used := ControlGroups().memory_used()) is not None:
            return used
        total = 0
        for pid in self._pids():
            with contextlib.suppress(psutil.Error):
                memory = psutil.Process(pid).memory_info()
                total += memory.rss - memory.shared
        return total

    def _block_io(self) -> BlockIo | None:
        return (of_group() if self._contained else None) or of_processes([self._crowd, *self._pids()])

    def _mounted(self) -> dict[str, int]:
        seen: list[Mapping[str, Any]] = [one.values for one in self._wire.sample() if one.values["storage"]]
        if not seen:
            return {}
        ops = sum(int(counts["ops"]) for counts in seen[0]["ops"].values())
        return {"ops": ops, "read_bytes": seen[0]["read_bytes"], "write_bytes": seen[0]["write_bytes"]}


def _network() -> tuple[int, int]:
    counted = [one for name, one in psutil.net_io_counters(pernic=True).items() if name != _LOOPBACK]
    return sum(one.bytes_recv for one in counted), sum(one.bytes_sent for one in counted)


_CHANGE_SECONDS = 60.0  # for workers to end and others to begin

log = logging.getLogger("member")


class Agent:
    """`plan`: of a worker of the system's own jobs, whose settings a run's workers have except for those of a lease."""

    def __init__(self, plan: WorkerPlan, env: Mapping[str, str], workers: int, pipe: Connection, crowd: int) -> None:
        settings = plan.settings
        assert settings.broker is not None  # the worker has checked
        self._plan, self._settings, self._pipe, self._crowd = plan, settings, pipe, crowd
        self._roots = roots_of(settings, env)
        self._remounts, self._remounted = Remounts(env), False
        self._orders: Any = connect(settings.broker, block_seconds=ALIVE_SECONDS)
        self._beats: Any = connect(settings.broker)
        self._changed = threading.Event()
        self._lock = threading.Lock()  # of the lease
        self._run, self._heard = "", time.monotonic()
        self._meter: MemberMeter | None = None
        self._clients: Clients | Replay | None = None
        self._hello = Hello(
            id=secrets.token_hex(8),
            name=plan.name,
            version=installed_version(),
            host=host(),
            storage=_seen(settings.storage),
            roots={name: str(path) for name, path in self._roots.items()},
            workers=workers,
        )
        self._does: Mapping[type, Callable[[Any], object]] = {
            Lease: self._lease,
            Return: self._return,
            Look: self._look,
            Clock: lambda _order: {"now": time.time()},
            Drop: self._drop,
            ReplayOrder: self._have_replay,
            Play: lambda order: self._of(order.run, Replay).play(order),
            ClientsOrder: self._have_clients,
            Act: lambda order: self._of(order.run, Clients).act(order),
        }

    def run(self) -> int:
        """Until the crowd is gone or lets go; the exit status."""
        for body, name in ((self._take_orders, "orders"), (self._beat, "beat")):
            threading.Thread(target=body, name=name, daemon=True).start()
        try:
            while True:
                self._pipe.recv()
                self._changed.set()
        except (EOFError, OSError):
            self._part()
        return 0

    def _part(self) -> None:
        """Delete the member's record at the broker, so that its departure is noticed at once."""
        try:
            self._beats.delete(f"{MEMBER}{self._hello.id}")
        except redis.RedisError:
            log.info("left without a word: the broker does not answer")

    # Orders

    def _take_orders(self) -> None:
        own = f"{OF_MEMBER}{self._hello.id}"
        try:
            OrderTaker(self._orders, own, MemberOrder, lambda order: self._does[type(order)](order), log).run(Stop())
        except BaseException:
            log.exception("unexpected error; another agent takes over")
            os._exit(1)

    def _lease(self, order: Lease) -> object:
        with self._lock:
            self._refuse_leased()
            if order.workers > self._hello.workers:
                raise UsageError(f"this member has at most {self._hello.workers} workers")
            if order.databases > len(self._settings.databases):
                raise UsageError(f"EDBENCH_DATABASES names {len(self._settings.databases)} databases here")
            if order.place.root == "evidence":
                raise UsageError("evidence is not written to")
            if order.mount is not None:
                self._mount(order.mount)
            there = resolved(order.place, self._roots)
            wait_for(there)
            mark = RunMark(run=order.run, databases=order.databases, hosts=order.hosts)
            settings = dataclasses.replace(
                run_settings(self._settings, mark), storage=there, slots=order.slots, filer=self._filer(order.filer)
            )
            self._run, self._heard = order.run, time.monotonic()
            self._meter = MemberMeter(there, self._crowd)
            try:
                self._change(self._plans(settings, order))
            except SystemFault:
                log.exception("run %s", order.run)
                os._exit(1)  # the crowd goes back to the system's own jobs, with another agent
            return {} if order.mount is None else {"mount": place(there)["mount"]}

    def _mount(self, name: str) -> None:
        """While no worker has a file open there. Raises UsageError, SystemFault; then the system's own workers are back."""
        self._change([])
        try:
            self._remounts.mount(name)
        except (UsageError, SystemFault):
            self._change(None)
            raise
        self._remounted = True

    def _refuse_leased(self) -> None:
        if self._run:
            raise UsageError(f"this member works for run {self._run}")

    def _have_clients(self, order: ClientsOrder) -> object:
        """The workers stay as they are: the system has no jobs meanwhile."""
        with self._lock:
            self._refuse_leased()
            self._clients = Clients(order, self._roots)
            self._run, self._heard = order.run, time.monotonic()
            return {"clients": self._clients.of_each}

    def _have_replay(self, order: ReplayOrder) -> object:
        """The same; what its clients prepare takes its time."""
        with self._lock:
            self._refuse_leased()
            settings = dataclasses.replace(self._settings, filer=self._filer(order.filer))
            self._clients = replay = Replay(order, self._roots, settings)
            self._run, self._heard = order.run, time.monotonic()
            self._meter = MemberMeter(settings.storage, self._crowd)
        return replay.prepared()

    def _of(self, run: str, kind: type[_Clients]) -> _Clients:
        """Clients of a run. They work without the lock, for as long as it takes: those whose lease is lost are killed meanwhile."""
        if self._run != run or not isinstance(self._clients, kind):
            raise UsageError(f"this member has no clients of run {run}")
        return self._clients

    def _plans(self, settings: Settings, order: Lease) -> list[WorkerPlan]:
        before = f"{order.hosts[0]}-" if order.hosts else ""
        one = dataclasses.replace(self._plan, settings=settings)
        return [
            dataclasses.replace(
                one, name=f"{before}w{order.first + number}", metrics=NOWHERE if number else self._plan.metrics
            )
            for number in range(order.workers)
        ]

    def _filer(self, filer: Place | str) -> str:
        if isinstance(filer, Place):
            return str(resolved(filer, self._roots))
        if filer not in profile_names():
            raise UsageError(f"{filer!r} is not an emulated filer")
        return filer

    def _return(self, order: Return) -> object:
        """A run that it does not work for is over already."""
        with self._lock:
            if self._run != order.run:
                return None
            meters = None if self._meter is None else self._meter.read()
            self._go_back()
            return meters

    def _go_back(self) -> None:
        clients, self._clients = self._clients, None
        self._run, self._meter = "", None
        if self._remounted:
            self._remounted = False
            self._change([])
            try:
                self._remounts.restore()
            except (UsageError, SystemFault):
                log.exception("the storage is not mounted as usual")
        if clients is None:
            self._change(None)
        else:
            clients.end()

    def _change(self, plans: list[WorkerPlan] | None) -> None:
        """Returns when the workers that there were are gone and these are forked. Raises SystemFault."""
        self._changed.clear()
        self._pipe.send(plans)
        if not self._changed.wait(_CHANGE_SECONDS + self._plan.grace_seconds):
            raise SystemFault("the earlier workers do not end")

    def _look(self, order: Look) -> Sight:
        unseen: dict[str, str] = {}
        token, source = "", (0, 0)
        file = resolved(order.token, self._roots)
        try:
            token = file.read_text(encoding="ascii", errors="replace")
            file.with_name(f"{file.name}.{self._hello.id}").write_text(token, encoding="ascii", errors="replace")
        except OSError as error:
            unseen["sign" if token else "token"] = os.strerror(error.errno or 0)
        if order.source is not None:
            try:
                root = os.stat(resolved(order.source, self._roots))
                source = (root.st_dev, root.st_ino)
            except (OSError, UsageError) as error:
                unseen["source"] = str(getattr(error, "strerror", None) or error)
        return Sight(token=token, source=source, unseen=unseen)

    def _drop(self, order: Drop) -> object:
        directories = [resolved(one, self._roots) for one in order.places]
        paths = [path for directory in directories for path in regular_files(directory)]
        return dataclasses.asdict(drop_pages(paths, everything=True))

    # The heartbeat

    def _beat(self) -> None:
        while True:
            try:
                if self._meter is not None:
                    self._meter.look()
                self._report()
                self._check_lease()
            except (redis.RedisError, SystemFault) as error:
                log.info("no heartbeat: %s", error)
                self._forget_lost_lease()
            except BaseException:
                log.exception("unexpected error; another agent takes over")
                os._exit(1)
            time.sleep(BEAT_SECONDS)

    def _report(self) -> None:
        meter = self._meter
        used = Used() if meter is None else meter.used
        self._hello = msgspec.structs.replace(self._hello, beat=self._hello.beat + 1, run=self._run, used=used)
        self._beats.set(f"{MEMBER}{self._hello.id}", msgspec.json.encode(self._hello), px=int(ALIVE_SECONDS * 1_000))
        self._beats.sadd(MEMBERS, self._hello.id)

    def _check_lease(self) -> None:
        run = self._run
        if not run or self._beats.exists(f"{LEASED}{run}"):
            self._heard = time.monotonic()
        self._forget_lost_lease()

    def _forget_lost_lease(self) -> None:
        if not self._run or time.monotonic() - self._heard < ALIVE_SECONDS:
            return
        with self._lock:
            if self._run:
                log.warning("the command of run %s is gone; working for the system again", self._run)
                self._go_back()


def _seen(storage: Path) -> dict[str, Any]:
    """Raises StorageFault."""
    try:
        return place(storage)
    except OSError as error:
        raise StorageFault(
            f"the storage root {storage} is not here: {error.strerror}", errno=error.errno or 0
        ) from error


def _module(name: str, what: str) -> str:
    """Raises UsageError where its package is not installed."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        raise UsageError(f"this host has no {what}; install edbench-{package.replace('_', '-')} on it")
    return name


def _written_to(place: Place, roots: Mapping[str, Path]) -> Path:
    """Raises UsageError for evidence."""
    path = resolved(place, roots)
    if place.root == "evidence":
        raise UsageError("evidence is not written to")
    return path


def _heard(processes: Sequence[LineProcess]) -> list[Any]:
    """An answer of each. Raises SystemFault."""
    try:
        return answers(processes)
    except EdbenchError as error:
        raise SystemFault(str(error)) from error


def _monotonic_ns(start: float) -> int:
    """A moment of this host's wall clock."""
    return time.monotonic_ns() + round((start - time.time()) * 1e9)


class Replay:
    """A process whose children are clients of a replay. Raises UsageError for a place that is not theirs, SystemFault."""

    _END_SECONDS = 10.0  # for clients to end, and for what they have in memory to be removed

    def __init__(self, order: ReplayOrder, roots: Mapping[str, Path], settings: Settings) -> None:
        trace = resolved(order.trace, roots)
        paths = [_written_to(path, roots) for path in order.paths]
        for path in (trace, *paths):
            wait_for(path)
        choice = {name: getattr(order, name) for name in ("clients", "speed", "closed", "shared", "seed")}
        emulated = bool(paths) and settings.filer != "none"
        self._process = LineProcess(_module(REPLAY_MODULE, "replays"), "the replay", settings.environment())
        self._process.tell(
            {
                "trace": str(trace), "scratch": str(settings.scratch), "replay_id": order.run if paths else "",
                "choice": choice | {"paths": [str(path) for path in paths]}, "numbers": order.numbers,
                "null": not paths, "cold": bool(paths) and not emulated, "emulated": emulated,
            }
        )  # fmt: skip

    def prepared(self) -> Any:
        """Returns when all are ready. Raises SystemFault."""
        return _heard([self._process])[0]

    def play(self, order: Play) -> Any:
        """Returns when all are through. Raises SystemFault."""
        self._process.tell(_monotonic_ns(order.start))
        return _heard([self._process])[0]

    def end(self) -> None:
        """Their files below the order's paths stay."""
        self._process.end(self._END_SECONDS)


class Clients:
    """As many processes as cores. Raises UsageError for a place that is not theirs, SystemFault."""

    def __init__(self, order: ClientsOrder, roots: Mapping[str, Path]) -> None:
        module = _module(CLIENTS_MODULE, "storage tests")
        self._own = contextlib.ExitStack()  # in the memory of this host
        self._processes: list[LineProcess] = []
        numbers = range(order.first, order.first + order.step * order.count, order.step)
        parts = min(order.count, processors())
        try:
            spec = {
                "roots": [str(self._place(each, roots)) for each in order.places], "s3": None, "seed": order.seed,
                "fsync": order.fsync, "io_bytes": order.io_bytes, "emulated": False,
            }  # fmt: skip
            for part in range(parts):
                self._processes.append(LineProcess(module, "clients"))
                self._processes[-1].tell(spec | {"clients": tuple(numbers[part::parts])})
            _heard(self._processes)
        except BaseException:
            self.end()
            raise
        self.of_each = [len(numbers[part::parts]) for part in range(parts)]

    def _place(self, each: Place, roots: Mapping[str, Path]) -> Path:
        path = _written_to(each, roots)
        if each.root == "null":  # clients read only what they wrote: each member has null storage of its own
            owner = import_module(OWNER_MODULE)
            path = self._own.enter_context(owner.place_of_own(roots["null"], "edbench-clients"))
        wait_for(path)
        return path

    def act(self, order: Act) -> dict[str, Any]:
        """Returns when all have done it. Raises UsageError, SystemFault."""
        if len(order.shares) != len(self._processes):
            raise UsageError(f"this member has {len(self._processes)} processes of clients")
        start_ns = _monotonic_ns(order.start)
        for process, (first, last) in zip(self._processes, order.shares, strict=True):
            process.tell(
                {
                    "deed": order.deed, "first": first, "last": last, "size": order.size,
                    "shared_directory": order.shared_directory, "shared_numbers": order.shared_numbers,
                    "start_ns": start_ns, "delays_ns": order.delays_ns,
                }
            )  # fmt: skip
        return {"done": _heard(self._processes)}

    def end(self) -> None:
        """By force; what they wrote in the memory of this host goes."""
        for process in self._processes:
            process.end()
        self._own.close()


_Clients = TypeVar("_Clients", Clients, Replay)
