"""Members of the crew at a run: they have its workers from entering to leaving, and the queue manager its databases."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from controller.jobs.run import slots_of
from core.crew import BEAT_SECONDS, Hello, Lease, Meters, Place, Return
from core.errors import DatabaseFault, SystemFault
from experiments.crew.admission import Admission, Seat
from experiments.workload import HostLost
from sql import runs
from sql.runs import RunMark
from sql.session import Database

_ALL_UP_SECONDS, _LOOK_SECONDS = 180.0, 0.1
_CHECK_SECONDS = 1.0
_LEASE_SECONDS = 240.0  # for workers to end, the storage to be mounted, others to begin
_DETACH_SECONDS = 20.0  # for the queue manager to store what workers sent last

log = logging.getLogger(__name__)


class Leased:
    """Entering it has the members start their workers, waits until all have registered, and only then has the queue manager
    dispatch. Leaving it ends the workers; then `left` has what each member counted. Raises HostLost, SystemFault."""

    def __init__(
        self, admission: Admission, seats: Sequence[Seat], run: str, databases: Sequence[Database], place: Place,
        slots: int, filer: Place | str,
    ) -> None:  # fmt: skip
        self._admission, self._crew = admission, admission.crew
        self.seats, self._run, self._databases = list(seats), run, databases
        self._place, self._slots, self._filer = place, slots, filer
        self._members = [seat.member for seat in seats]
        self.mount: str | None = None  # of the members' own configuration; None: as the storage is mounted
        self._mounts: list[Any] = []  # what each reports of its mount after that
        self._next_check = 0.0
        self._held, self._over = contextlib.ExitStack(), False
        self._latest: dict[str, Hello] = {}
        self.left: list[dict[str, Any]] = []

    @property
    def hosts(self) -> list[str]:
        """Labels of the client caches, where there are several: tasks that read again go to another one."""
        labels = list(dict.fromkeys(seat.host for seat in self.seats))
        return labels if len(labels) > 1 else []

    def used(self) -> tuple[float, float, float]:
        """Time by the members' clocks, and the workers' CPU and run-queue seconds so far. Raises BrokerFault."""
        here = {hello.id: hello for hello in self._crew.present()}
        for member in self._members:
            hello = here.get(member.id)
            if hello is not None and hello.run == self._run and hello.used.at:
                self._latest[member.id] = hello
        said = [hello.used for hello in self._latest.values()]
        at = sum(one.at for one in said) / len(said) if said else time.time()
        return at, sum(one.cpu_s for one in said), sum(one.waited_s for one in said)

    def cpu_s(self) -> float:
        """CPU seconds of the workers, as all members report them after this call. Raises HostLost, BrokerFault."""
        before, _, _ = self.used()
        while True:
            at, used, _ = self.used()
            if at >= before + BEAT_SECONDS * 0.9:
                return used
            self.check()
            time.sleep(BEAT_SECONDS / 10)

    def check(self) -> None:
        """What `Tended.check` is."""
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + _CHECK_SECONDS
            self._crew.check(self._members)

    def __enter__(self) -> Self:
        self._held.enter_context(self._crew.held(self._run))
        try:
            self._before = self._admission.offsets(self._members)
            answers = self._crew.ask_all([(seat.member, self._lease(seat)) for seat in self.seats], _LEASE_SECONDS)
            self._mounts = [answer.get("mount") for answer in answers]
            self._wait_for_slots(sum(seat.workers for seat in self.seats) * self._slots)
            self._mark(RunMark(run=self._run, databases=len(self._databases), hosts=tuple(self.hosts)))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._end()
            return
        try:
            self.leave()
        except BaseException:
            self._end()
            raise

    def leave(self) -> None:
        """The members' workers end, and `left` has what each counted; does nothing the second time."""
        if self._over:
            return
        after = self._admission.offsets(self._members)
        counted = self._crew.ask_all([(member, Return(run=self._run)) for member in self._members])
        self._detach()
        self.left = [
            {
                "name": seat.member.name,
                "workers": seat.workers,
                "slots": self._slots,
                **({"mount": mounted} if mounted else {}),
                "clock_offset_s": clock_between(self._before[seat.member.id], after[seat.member.id]),
                **msgspec.to_builtins(msgspec.convert(meters, Meters)),
            }
            for seat, meters, mounted in zip(self.seats, counted, self._mounts, strict=True)
        ]

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
            mount=self.mount,
        )

    def _end(self) -> None:
        """After a failure: members that are here return; what a lost one held ends when it notices."""
        for member in self._members:
            try:
                self._crew.ask(member, Return(run=self._run))
            except (HostLost, SystemFault):
                continue  # it notices by itself that the lease is over, and what failed first is what is reported
        self._detach()

    def _detach(self) -> None:
        """The queue manager lets go of the databases, so that they can be removed."""
        if self._over:
            return
        self._over = True
        self._held.close()
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
                    f"{min(slots)} slots of the members live after {_ALL_UP_SECONDS:.0f} s where {wanted} are wanted; see their"
                    " logs"
                )
            time.sleep(_LOOK_SECONDS)


def clock_between(start: tuple[float, float], end: tuple[float, float]) -> dict[str, float]:
    """A member's clock less this one's, and by how much that may be off."""
    return {"start": start[0], "end": end[0], "within": max(start[1], end[1])}
