"""Workers of one run, dealt out over the hosts; the queue manager is here."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from controller.cluster.embedded import EmbeddedCluster
from core.errors import SystemFault
from core.services import from_afar
from core.settings import Settings
from experiments.hosts.fleet import Fleet, Host, processors_of
from experiments.hosts.messages import Meters, Work
from experiments.workload import HostLost
from sql import workers as worker_table
from sql.session import Database

_ALL_UP_SECONDS, _LOOK_SECONDS = 180.0, 0.1
_CHECK_SECONDS = 1.0


def dealt(workers: int, hosts: int) -> list[int]:
    """How many each of the first hosts has; those that would have none are left out."""
    return [workers // hosts + (number < workers % hosts) for number in range(min(hosts, workers))]


class HostsCluster:
    """Entering it has the hosts start their workers, waits until all have registered, and only then starts the queue manager.

    `settings`: with the services attached, which listen at an address that the hosts reach. Leaving it ends the workers; then
    `left` has what each host counted. Raises HostLost, SystemFault.
    """

    def __init__(
        self, fleet: Fleet, hosts: Sequence[Host], settings: Settings, databases: Sequence[Database], *,
        workers: int, slots: int, env: Mapping[str, str],
    ) -> None:  # fmt: skip
        shares = dealt(workers, len(hosts))
        self._fleet, self._hosts, self._shares = fleet, list(hosts[: len(shares)]), shares
        self._databases, self._slots = databases, slots
        names = [host.name for host in self._hosts]
        self._settings = dataclasses.replace(settings, hosts=tuple(names), slots=slots)
        self._here = EmbeddedCluster(self._settings, 0, slots, env=env, managed=False)
        self._next_check = 0.0
        self.left: list[dict[str, Any]] = []

    @property
    def processors(self) -> int:
        """Of those that work."""
        return processors_of(self._hosts)

    def check(self) -> None:
        """What `Tended.check` is."""
        self._here.check()
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + _CHECK_SECONDS
            self._fleet.meeting.check([host.hello for host in self._hosts])

    def __enter__(self) -> Self:
        self._here.start()
        try:
            self._wait_for_slots(0)
            self._before = self._fleet.offsets(self._hosts)
            self._fleet.meeting.ask_all(self._orders(), "work")
            self._wait_for_slots(sum(self._shares) * self._slots)
            self._here.manage()
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
        finally:
            self._here.stop()

    def leave(self) -> None:
        """The hosts' workers end, and `left` has what each host counted; does nothing the second time."""
        if self.left:
            return
        after = self._fleet.offsets(self._hosts)
        asked = [(host.hello, None) for host in self._hosts]
        counted = self._fleet.meeting.ask_all(asked, "leave")
        self.left = [
            {
                "name": host.name,
                "workers": share,
                "slots": self._slots,
                "clock_offset_s": _clock(self._before[host.name], after[host.name]),
                **msgspec.to_builtins(msgspec.convert(meters, Meters)),
            }
            for host, share, meters in zip(self._hosts, self._shares, counted, strict=True)
        ]

    def _end(self) -> None:
        """After a failure: whoever is here still has his workers end; a lost host's end when it notices."""
        for host in self._hosts:
            try:
                self._fleet.meeting.ask(host.hello, "leave")
            except (HostLost, SystemFault):
                continue  # its agent ends them itself, and what failed first is what is told
        self._here.stop()

    def _orders(self) -> list[tuple[Any, Work]]:
        names = self._settings.hosts
        out = []
        for number, (host, share) in enumerate(zip(self._hosts, self._shares, strict=True)):
            own_first = (host.name, *names[:number], *names[number + 1 :])
            settings = dataclasses.replace(from_afar(self._settings), hosts=own_first)
            out.append((host.hello, Work(environment=settings.environment(), workers=share, slots=self._slots)))
        return out

    def _wait_for_slots(self, wanted: int) -> None:
        """Until so many live. None before the hosts begin: those of a host that was lost count for some seconds more."""
        deadline = time.monotonic() + _ALL_UP_SECONDS
        while True:
            self.check()
            slots = [_slots_of(database) for database in self._databases]
            if not any(slots) if wanted == 0 else min(slots) >= wanted:
                return
            if time.monotonic() > deadline:
                if wanted == 0:
                    raise SystemFault(
                        f"other workers are still running after {_ALL_UP_SECONDS:.0f} s: those of a lost host stop with"
                        " its agent, others belong to another command"
                    )
                raise SystemFault(
                    f"{min(slots)} slots of the hosts live after {_ALL_UP_SECONDS:.0f} s where {wanted} are wanted; each"
                    " host's logs are in its scratch"
                )
            time.sleep(_LOOK_SECONDS)


def _clock(start: tuple[float, float], end: tuple[float, float]) -> dict[str, float]:
    """A host's clock less this one's, and by how much that may be off."""
    return {"start": start[0], "end": end[0], "within": max(start[1], end[1])}


def _slots_of(database: Database) -> int:
    with database.transaction() as conn:
        return worker_table.live_slots(conn)
