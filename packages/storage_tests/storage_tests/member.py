"""Clients of a storage test at a member of the crew: the package's part of `worker.member.agent`, ordered by `storage_tests.study`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from core.crew import Place, monotonic_ns, wait_for, writable
from core.errors import UsageError
from storage_tests import crowd
from storage_tests.clients import Order
from storage_tests.owner import place_of_own

if TYPE_CHECKING:
    from worker.member.agent import Host

PACKAGE = "storage-tests"
_Count = Annotated[int, Meta(ge=1, le=crowd.MOST)]


class Wanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An order to have clients at a member."""

    first: Annotated[int, Meta(ge=0, le=crowd.MOST)]  # number of the first of them, of all clients, and …
    step: _Count  # … from each to the next
    count: _Count
    places: Annotated[tuple[Place, ...], Meta(min_length=1, max_length=16)]  # clients take these in turn
    seed: int
    fsync: Literal["none", "file"]
    io_bytes: Annotated[int, Meta(ge=1, le=1 << 30)]


class Do(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An order to do something: an order for each process, which starts by the member's clock."""

    start: float  # seconds since the epoch
    orders: Annotated[tuple[Order, ...], Meta(max_length=crowd.MOST)]


class Clients:
    """Clients at a member (`worker.member.agent.Clients`). Raises UsageError for a place that is not theirs,
    StorageFault, RunFailed."""

    def __init__(self, order: msgspec.Raw, host: Host, _run: str) -> None:
        wanted = msgspec.json.decode(order, type=Wanted)
        numbers = range(wanted.first, wanted.first + wanted.step * wanted.count, wanted.step)
        with contextlib.ExitStack() as stack:
            roots = tuple(_place(each, host.roots, stack) for each in wanted.places)
            place = crowd.Place(roots=roots, seed=wanted.seed, fsync=wanted.fsync, io_bytes=wanted.io_bytes)
            self._people = stack.enter_context(crowd.here(place, numbers))
            self._own = stack.pop_all()

    def ready(self) -> Any:
        """Return the number of clients of each process."""
        return {"clients": self._people.clients}

    def act(self, order: msgspec.Raw) -> Any:
        """Carry out an order and return the reports of the processes. Raises UsageError, RunFailed."""
        do = msgspec.json.decode(order, type=Do)
        if len(do.orders) != len(self._people.clients):
            raise UsageError(f"this member has {len(self._people.clients)} processes of clients")
        start_ns = monotonic_ns(do.start)
        return {"done": self._people.obeyed([dataclasses.replace(one, start_ns=start_ns) for one in do.orders])}

    def end(self) -> None:
        """End the clients by force and remove what they wrote in the memory of this host."""
        self._own.close()


def _place(each: Place, roots: Mapping[str, Path], stack: contextlib.ExitStack) -> Path:
    path = writable(each, roots)
    if each.root == "null":  # clients read only what they wrote: each member has null storage of its own
        return stack.enter_context(place_of_own(roots["null"], "edbench-clients"))
    wait_for(path)
    return path
