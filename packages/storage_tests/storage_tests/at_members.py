"""Clients of storage tests at the members of the crew."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import msgspec

from core.crew import Act, Hello, Return, place_at
from core.crew import Clients as ClientsOrder
from core.errors import SystemFault, UsageError
from experiments.crew.admission import BACK_SECONDS, usable
from experiments.crew.orders import LONG_SECONDS
from experiments.crew.system import System
from experiments.workload import HostLost
from storage_tests.clients import Order, ProcessDone
from storage_tests.crowd import Crowd, Place

_AHEAD_NS = 500_000_000  # that an order is on its way to a member
_LOOK_S = 1.0


@contextlib.contextmanager
def crowd_at(system: System, place: Place, clients: int, between: Callable[[], None]) -> Iterator[Crowd]:
    """So many clients, spread over all members; none is left at the end. Raises UsageError for a place that members do not see,
    HostLost, SystemFault."""
    places = []
    for path in place.roots:
        there = place_at(path, system.roots)
        if there is None or there.root == "evidence":
            raise UsageError(f"the members do not write to {path}; it has to be below {system.settings.storage}")
        places.append(there)
    crew, run = system.crew, secrets.token_hex(8)
    system.admission.await_workers(1, BACK_SECONDS)
    members = system.admission.here()[:clients]
    with crew.held(run):
        try:
            orders = [
                ClientsOrder(
                    run=run, first=number, step=len(members), count=len(range(number, clients, len(members))),
                    places=tuple(places), seed=place.seed, fsync=place.fsync,  # type: ignore[arg-type]
                    io_bytes=place.io_bytes, compressible=place.compressible,
                )
                for number in range(len(members))
            ]  # fmt: skip
            answers = crew.ask_all(list(zip(members, orders, strict=True)))
            offsets = system.admission.offsets(members)
            seats = [(member, list(answer["clients"])) for member, answer in zip(members, answers, strict=True)]
            yield _There(system, run, seats, {one: offset for one, (offset, _) in offsets.items()}, between)
        finally:
            for member in members:
                with contextlib.suppress(HostLost, SystemFault):  # it notices by itself that the run is over
                    crew.ask(member, Return(run=run))


class _There(Crowd):
    """`seats`: members with how many clients each of their processes has; `offsets`: of their clocks, by id."""

    def __init__(
        self, system: System, run: str, seats: Sequence[tuple[Hello, list[int]]], offsets: Mapping[str, float],
        between: Callable[[], None],
    ) -> None:  # fmt: skip
        every = [many for _, its in seats for many in its]
        super().__init__(every, usable([member for member, _ in seats], "processors"), _AHEAD_NS)
        self._crew, self._run, self._seats, self._offsets, self._between = system.crew, run, seats, offsets, between

    def _obeyed(self, orders: Sequence[Order]) -> Sequence[ProcessDone]:
        start = time.time() + (orders[0].start_ns - time.monotonic_ns()) / 1e9
        left, acts = iter(orders), []
        for member, its in self._seats:
            own = [next(left) for _ in its]
            acts.append((member, self._act(own, start + self._offsets[member.id])))
        with ThreadPoolExecutor(len(acts)) as pool:
            asked = [pool.submit(self._crew.ask, member, act, LONG_SECONDS) for member, act in acts]
            while wait(asked, _LOOK_S).not_done:
                self._between()
        return [one for future in asked for one in _done(future.result(), orders[0].start_ns)]

    def _act(self, orders: Sequence[Order], start: float) -> Act:
        one = orders[0]
        return Act(
            run=self._run, deed=one.deed, shares=tuple((order.first, order.last) for order in orders), size=one.size,
            shared_directory=one.shared_directory, shared_numbers=one.shared_numbers, start=start,
            delays_ns=one.delays_ns,
        )  # fmt: skip


def _done(answer: Mapping[str, Any], start_ns: int) -> Iterator[ProcessDone]:
    """With times by this host's monotonic clock."""
    later = start_ns - answer["start_ns"]
    for said in answer["done"]:
        done = msgspec.convert(said, ProcessDone)
        clients = tuple(
            replace(one, began_ns=one.began_ns + later, ended_ns=one.ended_ns + later) for one in done.clients
        )
        yield replace(done, clients=clients)
