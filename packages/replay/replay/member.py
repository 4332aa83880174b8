"""Clients of a replay on a member of the crew: the part of `worker.member.agent`, controlled by `replay.workload`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from core.crew import Place, filer_at, monotonic_ns, resolved, wait_for, writable
from replay.local import Order, Played, Players, Ready
from replay.plan import ReplayChoice

if TYPE_CHECKING:
    from worker.member.agent import Host

PACKAGE = "replay"


class Wanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Order to prepare files."""

    trace: Place
    paths: Annotated[tuple[Place, ...], Meta(max_length=64)]  # empty: null storage, in the memory of this host
    choice: ReplayChoice  # of all members; it names no paths
    numbers: Annotated[tuple[int, ...], Meta(min_length=1, max_length=4_096)]  # numbers of the clients that play here
    filer: Place | str = "none"  # in the form of a lease


class Start(Struct, frozen=True, forbid_unknown_fields=True):
    """Order to play."""

    at: float  # the member's clock, seconds since the epoch


class Clients:
    """A `worker.member.agent.Clients`. Raises UsageError for a place outside its roots, SystemFault."""

    def __init__(self, order: msgspec.Raw, host: Host, run: str) -> None:
        wanted = msgspec.json.decode(order, type=Wanted)
        trace = resolved(wanted.trace, host.roots)
        paths = [writable(path, host.roots) for path in wanted.paths]
        for path in (trace, *paths):
            wait_for(path)
        settings = dataclasses.replace(host.settings, filer=filer_at(wanted.filer, host.roots))
        real, emulated = bool(paths), bool(paths) and settings.filer != "none"
        ours = Order(
            trace=str(trace), scratch=str(settings.scratch), replay_id=run if real else "", null=not real,
            choice=dataclasses.replace(wanted.choice, paths=tuple(map(str, paths))), numbers=wanted.numbers,
            cold=real and not emulated, emulated=emulated,
        )  # fmt: skip
        self._players = Players(ours, env=settings.environment())

    def ready(self) -> Ready:
        """Prepare the files and return the size of the replay."""
        return self._players.ready()

    def act(self, order: msgspec.Raw) -> Played:
        """Play."""
        return self._players.play(monotonic_ns(msgspec.json.decode(order, type=Start).at))

    def end(self) -> None:
        """End the clients; their files below the order's paths stay."""
        self._players.end()
