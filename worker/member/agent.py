"""The agent of a member: reports once a second that the member is there, and executes the controller's orders.

It is a process of its own below the crowd (worker.crowd), which has no connection to anything and forks the workers:
the agent sends it the plans. A member that works for a run returns to the system's own jobs when it is ordered to, when
the command that leased it is gone, and when the broker does not answer for as long."""

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
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psutil
import redis

from core import crew
from core.errors import StorageFault, SystemFault, UsageError
from core.extensions import extensions, installed_version
from core.orders import OrderTaker
from core.program import Stop
from core.residency import drop_pages, regular_files
from core.settings import Settings
from core.texts import many
from monitoring.broker import connect
from monitoring.control_groups import ControlGroups
from monitoring.machine import host, host_seconds, place, usable_processors
from monitoring.metrics import NOWHERE
from monitoring.observations import BlockIo, of_group, of_processes
from monitoring.processes import WorkerMeter, below
from monitoring.wire import WireSampler
from sql.runs import RunMark, run_settings
from worker.member.remount import Remounts
from worker.supervisor import WorkerPlan

_LOOPBACK = "lo"


class MemberMeter:
    """Measurement until `read`; call `look` once a second meanwhile, for peaks and for processes that end."""

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
        self.used = crew.Used(at=time.time())

    def look(self) -> None:
        """Update the peaks and the use so far; costs some milliseconds."""
        self._least = min(self._least, psutil.virtual_memory().available)
        self._peak = max(self._peak, self._memory())
        cpu, waited = self._workers.read()
        self.used = crew.Used(at=time.time(), cpu_s=cpu - self._cpu[0], waited_s=waited - self._cpu[1])

    def read(self) -> crew.Meters:
        """Return everything measured up to now."""
        self.look()
        received, sent = _network()
        block = self._block_io()
        moved = (None, None) if block is None or self._block is None else (
            block.read - self._block.read, block.written - self._block.written)  # fmt: skip
        return crew.Meters(
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
GROUP = "edbench.members"  # of entry points: a package's name, and the module that has its `Clients`

log = logging.getLogger("member")


class Clients(Protocol):
    """A package's clients at a member, for a run; made of the package's order, a `Host` and the run's id."""

    def ready(self) -> object:
        """Return when they are prepared, which may take long."""

    def act(self, order: msgspec.Raw) -> object:
        """Return when they have executed the order."""

    def end(self) -> None:
        """End all of them; another thread may be waiting for them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """Configuration of this member."""

    settings: Settings
    roots: Mapping[str, Path]


class Agent:
    """The agent of a member. `plan`: of the system's own workers; a lease changes some of its settings for a run."""

    def __init__(self, plan: WorkerPlan, env: Mapping[str, str], workers: int, pipe: Connection, crowd: int) -> None:
        settings = plan.settings
        assert settings.broker is not None  # the worker has checked
        self._plan, self._settings, self._pipe, self._crowd = plan, settings, pipe, crowd
        self._roots = crew.roots_of(settings, env)
        self._remounts, self._remounted = Remounts(env), False
        self._orders: Any = connect(settings.broker, block_seconds=crew.ALIVE_SECONDS)
        self._beats: Any = connect(settings.broker)
        self._changed = threading.Event()
        self._lock = threading.Lock()  # of the lease
        self._run, self._heard = "", time.monotonic()
        self._meter: MemberMeter | None = None
        self._clients: Clients | None = None
        self._hello = crew.Hello(
            id=secrets.token_hex(8),
            name=plan.name,
            version=installed_version(),
            host=host(),
            storage=_storage_place(settings.storage),
            roots={name: str(path) for name, path in self._roots.items()},
            workers=workers,
        )
        self._does: Mapping[type, Callable[[Any], object]] = {
            crew.Lease: self._lease,
            crew.Return: self._return,
            crew.Look: self._look,
            crew.Clock: lambda _order: {"now": time.time()},
            crew.Drop: self._drop,
            crew.Prepare: self._prepare,
            crew.Act: self._act,
        }

    def run(self) -> int:
        """Run until the crowd is gone or closes the connection; return the exit status."""
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
            self._beats.delete(f"{crew.MEMBER}{self._hello.id}")
        except redis.RedisError:
            log.info("left without notice: the broker does not answer")

    # Orders

    def _take_orders(self) -> None:
        own = f"{crew.OF_MEMBER}{self._hello.id}"
        try:
            OrderTaker(self._orders, own, crew.MemberOrder, lambda order: self._does[type(order)](order), log).run(
                Stop()
            )
        except BaseException:
            log.exception("unexpected error; another agent takes over")
            os._exit(1)

    def _lease(self, order: crew.Lease) -> object:
        with self._lock:
            self._refuse_leased()
            if order.workers > self._hello.workers:
                raise UsageError(f"this member has at most {many(self._hello.workers, 'worker')}")
            if order.databases > len(self._settings.databases):
                raise UsageError(f"EDBENCH_DATABASES lists {len(self._settings.databases)} databases on this host")
            there = crew.writable(order.place, self._roots)
            filer = crew.filer_at(order.filer, self._roots)
            try:
                if order.mount is not None:
                    self._change([])  # no worker has a file open there
                    self._remounts.mount(order.mount)
                    self._remounted = True
                crew.wait_for(there)
            except (UsageError, SystemFault):
                if order.mount is not None:
                    self._go_back()
                raise
            mark = RunMark(run=order.run, databases=order.databases, hosts=order.hosts)
            settings = dataclasses.replace(
                run_settings(self._settings, mark), storage=there, slots=order.slots, filer=filer
            )
            self._run, self._heard = order.run, time.monotonic()
            self._meter = MemberMeter(there, self._crowd)
            try:
                self._change(self._plans(settings, order))
            except SystemFault:
                log.exception("run %s", order.run)
                os._exit(1)  # the crowd goes back to the system's own jobs, with another agent
            return {} if order.mount is None else {"mount": place(there)["mount"]}

    def _refuse_leased(self) -> None:
        if self._run:
            raise UsageError(f"this member works for run {self._run}")

    def _prepare(self, order: crew.Prepare) -> object:
        """Prepare a package's clients. The workers stay as they are: the system has no jobs meanwhile."""
        modules = extensions(GROUP).get(order.package)
        if modules is None:
            raise UsageError(f"this host has no {order.package}; install edbench-{order.package} on it")
        with self._lock:
            self._refuse_leased()
            made = import_module(modules[0]).Clients(order.order, Host(self._settings, self._roots), order.run)
            self._clients = clients = made
            self._run, self._heard = order.run, time.monotonic()
            self._meter = MemberMeter(self._settings.storage, self._crowd)
        return clients.ready()

    def _act(self, order: crew.Act) -> object:
        """Pass an order to the clients, without the lock: it may take long, and a lost lease must end them."""
        if self._run != order.run or self._clients is None:
            raise UsageError(f"this member runs no clients of run {order.run}")
        return self._clients.act(order.order)

    def _plans(self, settings: Settings, order: crew.Lease) -> list[WorkerPlan]:
        before = f"{order.hosts[0]}-" if order.hosts else ""
        one = dataclasses.replace(self._plan, settings=settings)
        return [
            dataclasses.replace(
                one, name=f"{before}w{order.first + number}", metrics=NOWHERE if number else self._plan.metrics
            )
            for number in range(order.workers)
        ]

    def _return(self, order: crew.Return) -> object:
        """Return from a run to the system's own jobs; do nothing if that run is over already."""
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
                log.exception("the storage is not mounted with its usual options")
        if clients is None:
            self._change(None)
        else:
            clients.end()

    def _change(self, plans: list[WorkerPlan] | None) -> None:
        """Replace the workers; return when the earlier ones are gone and these are forked. Raises SystemFault."""
        self._changed.clear()
        self._pipe.send(plans)
        if not self._changed.wait(_CHANGE_SECONDS + self._plan.grace_seconds):
            raise SystemFault("the workers of the previous run do not end")

    def _look(self, order: crew.Look) -> crew.Sight:
        unseen: dict[str, str] = {}
        token, source = "", (0, 0)
        file = crew.resolved(order.token, self._roots)
        try:
            token = file.read_text(encoding="ascii", errors="replace")
            file.with_name(f"{file.name}.{self._hello.id}").write_text(token, encoding="ascii", errors="replace")
        except OSError as error:
            unseen["sign" if token else "token"] = os.strerror(error.errno or 0)
        if order.source is not None:
            try:
                root = os.stat(crew.resolved(order.source, self._roots))
                source = (root.st_dev, root.st_ino)
            except (OSError, UsageError) as error:
                unseen["source"] = str(getattr(error, "strerror", None) or error)
        return crew.Sight(token=token, source=source, unseen=unseen)

    def _drop(self, order: crew.Drop) -> object:
        directories = [crew.resolved(one, self._roots) for one in order.places]
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
            time.sleep(crew.BEAT_SECONDS)

    def _report(self) -> None:
        meter = self._meter
        used = crew.Used() if meter is None else meter.used
        self._hello = msgspec.structs.replace(self._hello, run=self._run, used=used)
        self._beats.set(
            f"{crew.MEMBER}{self._hello.id}", msgspec.json.encode(self._hello), px=int(crew.ALIVE_SECONDS * 1_000)
        )
        self._beats.sadd(crew.MEMBERS, self._hello.id)

    def _check_lease(self) -> None:
        run = self._run
        if not run or self._beats.exists(f"{crew.LEASED}{run}"):
            self._heard = time.monotonic()
        self._forget_lost_lease()

    def _forget_lost_lease(self) -> None:
        if not self._run or time.monotonic() - self._heard < crew.ALIVE_SECONDS:
            return
        with self._lock:
            if self._run:
                log.warning("the command of run %s has ended; working for the system again", self._run)
                self._go_back()


def _storage_place(storage: Path) -> dict[str, Any]:
    """Describe the file system of the storage root. Raises StorageFault."""
    try:
        return place(storage)
    except OSError as error:
        raise StorageFault(
            f"the storage root {storage} is not here: {error.strerror}", errno=error.errno or 0
        ) from error
