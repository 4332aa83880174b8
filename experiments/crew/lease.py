"""Leases of crew members: a run has their workers, and the queue manager its databases, from entering to leaving."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from controller.jobs.run import slots_of
from core.crew import BEAT_SECONDS, Hello, Lease, Place, Return
from core.errors import DatabaseFault, SystemFault
from experiments.crew.admission import Admission, Seat
from experiments.crew.orders import ASK_SECONDS
from experiments.workload import HostLost
from sql import runs
from sql.runs import RunMark
from sql.session import Database

_ALL_UP_SECONDS, _LOOK_SECONDS = 180.0, 0.1
_CHECK_SECONDS = 1.0
_LEASE_SECONDS = 240.0  # for workers to end, the storage to be mounted, others to begin
_DETACH_SECONDS = 20.0  # for the queue manager to store what workers sent last

log = logging.getLogger(__name__)


class Working:
    """Members that work for a run, from entering to leaving; `left` then has what each counted. If the block fails, a
    member stops when it notices that its lease is over. Raises HostLost, SystemFault."""

    def __init__(self, admission: Admission, members: Sequence[Hello], run: str) -> None:
        self._admission, self._crew = admission, admission.crew
        self._members, self._run = list(members), run
        self._held, self._over = contextlib.ExitStack(), False
        self.offsets: Mapping[str, tuple[float, float]] = {}  # of their clocks by id, as `Crew.offset` has them
        self.facts: Sequence[Mapping[str, Any]] = [{} for _ in members]  # of each, for `left`
        self.left: list[dict[str, Any]] = []

    def order(self, orders: Iterable[Any], seconds: float = ASK_SECONDS) -> list[Mapping[str, Any]]:
        """Have each member carry out its order, all at the same time; return their answers. Raises HostLost,
        SystemFault."""
        return self._crew.ask_all(list(zip(self._members, orders, strict=True)), seconds)

    def __enter__(self) -> Self:
        self._held.enter_context(self._crew.held(self._run))
        try:
            self.offsets = self._admission.offsets(self._members)
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self) -> None:
        """Do the part of entering that a subclass adds."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._end()
            return
        try:
            self._leave()
        except BaseException:
            self._end()
            raise

    def _leave(self) -> None:
        after = self._admission.offsets(self._members)
        counted = self.order(Return(run=self._run) for _ in self._members)
        for member, meters in zip(self._members, counted, strict=True):
            if not meters:
                raise HostLost(f"member {member.name} was lost: it left the run before its end")
        self._detach()
        self.left = [
            {
                "name": member.name,
                **facts,
                "clock_offset_s": {
                    "start": self.offsets[member.id][0],
                    "end": after[member.id][0],
                    "within": max(self.offsets[member.id][1], after[member.id][1]),
                },
                **meters,
            }
            for member, facts, meters in zip(self._members, self.facts, counted, strict=True)
        ]

    def _end(self) -> None:
        """Have connected members return after a failure; a lost one returns when it notices that its lease is over."""
        for member in self._members:
            try:
                self._crew.ask(member, Return(run=self._run))
            except (HostLost, SystemFault):
                continue  # the member notices that the lease is over, and the first failure is the one to report
        self._detach()

    def _detach(self) -> None:
        """End the lease."""
        self._over = True
        self._held.close()


class Leased(Working):
    """Members with workers: entering starts the workers, waits until all have registered and then lets the queue
    manager dispatch; leaving ends the workers."""

    def __init__(
        self, admission: Admission, seats: Sequence[Seat], run: str, databases: Sequence[Database], place: Place,
        slots: int, filer: Place | str, mount: str | None = None,
    ) -> None:  # fmt: skip
        """`mount`: from the members' own configuration; None: as the storage is mounted."""
        super().__init__(admission, [seat.member for seat in seats], run)
        self.seats, self._databases = list(seats), databases
        self._place, self._slots, self._filer, self._mount = place, slots, filer, mount
        self._next_check = 0.0
        self._latest: dict[str, Hello] = {}

    @property
    def hosts(self) -> list[str]:
        """Labels of the client caches if there are several: tasks that read again then go to another one."""
        labels = list(dict.fromkeys(seat.host for seat in self.seats))
        return labels if len(labels) > 1 else []

    def used(self) -> tuple[float, float, float]:
        """Return the time by the members' clocks, and the CPU and run-queue seconds of the workers so far. Raises
        BrokerFault."""
        here = {hello.id: hello for hello in self._crew.present()}
        for member in self._members:
            hello = here.get(member.id)
            if hello is not None and hello.run == self._run and hello.used.at:
                self._latest[member.id] = hello
        used = [hello.used for hello in self._latest.values()]
        at = sum(one.at for one in used) / len(used) if used else time.time()
        return at, sum(one.cpu_s for one in used), sum(one.waited_s for one in used)

    def cpu_s(self) -> float:
        """Return the CPU seconds of the workers, as all members report them after this call. Raises HostLost,
        BrokerFault."""
        before, _, _ = self.used()
        while True:
            at, used, _ = self.used()
            if at >= before + BEAT_SECONDS * 0.9:
                return used
            self.check()
            time.sleep(BEAT_SECONDS / 10)

    def check(self) -> None:
        """Implement `Tended.check`."""
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + _CHECK_SECONDS
            self._crew.check(self._members)

    def _begin(self) -> None:
        answers = self.order(map(self._lease, self.seats), _LEASE_SECONDS)
        mounts = ({"mount": answer["mount"]} if answer.get("mount") else {} for answer in answers)
        self.facts = [
            {"workers": seat.workers, "slots": self._slots, **mount}
            for seat, mount in zip(self.seats, mounts, strict=True)
        ]
        self._wait_for_slots(sum(seat.workers for seat in self.seats) * self._slots)
        self._mark(RunMark(run=self._run, databases=len(self._databases), hosts=tuple(self.hosts)))

    def _lease(self, seat: Seat) -> Lease:
        others = [host for host in self.hosts if host != seat.host]
        return Lease(
            run=self._run,
            databases=len(self._databases),
            workers=seat.workers,
            first=seat.first,
            slots=self._slots,
            place=self._place,
            filer=self._filer,
            hosts=(seat.host, *others) if others else (),
            mount=self._mount,
        )

    def _detach(self) -> None:
        """Have the queue manager release the databases, so that they can be removed."""
        if self._over:
            return
        super()._detach()
        try:
            self._mark(None)
            deadline = time.monotonic() + _DETACH_SECONDS
            while time.monotonic() < deadline and self._managed():
                time.sleep(_LOOK_SECONDS)
        except DatabaseFault as fault:
            log.warning("run %s: %s", self._run, fault)

    def _managed(self) -> bool:
        with self._databases[0].transaction() as conn:
            return runs.managed(conn, self._run)

    def _mark(self, mark: RunMark | None) -> None:
        with self._databases[0].transaction() as conn:
            runs.set_mark(conn, self._run, mark)

    def _wait_for_slots(self, wanted: int) -> None:
        deadline = time.monotonic() + _ALL_UP_SECONDS
        while True:
            self.check()
            slots = [slots_of(database) for database in self._databases]
            if min(slots) >= wanted:
                return
            if time.monotonic() > deadline:
                raise SystemFault(
                    f"{min(slots)} slots of the members are running after {_ALL_UP_SECONDS:.0f} s; {wanted} are "
                    "required. See their logs"
                )
            time.sleep(_LOOK_SECONDS)
