"""Admission of crew members to an experiment: the same version, storage, mount and time are required."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from core.crew import Drop as DropOrder
from core.crew import Hello, Look, Place, Sight, place_at
from core.errors import RunFailed, SystemFault, UsageError
from core.extensions import installed_version
from core.residency import Dropped
from experiments.conditions import Drop
from experiments.crew.orders import LONG_SECONDS, Crew
from experiments.crew.sight import mounted, refuse_other_mount, refuse_other_storage, token_in
from experiments.workload import HostLost
from monitoring.machine import capacities

BACK_SECONDS = 60.0  # wait for a lost member or its replacement
_POLL_SECONDS = 0.2
_MOST_OFFSET_SECONDS = 1.0  # of a member's clock: its calls are counted by the second, and a trace by less


@dataclass(frozen=True, slots=True)
class Seat:
    """Some workers at one member, for a run."""

    member: Hello
    workers: int
    first: int  # number of the first of them
    host: str  # label of the client cache that they share: one kernel and mount


class Admission:
    """Members that were checked. `roots`: of this process; `source`: a directory that every member must see."""

    def __init__(self, crew: Crew, roots: Mapping[str, Path], source: Path, say: Callable[[str], None]) -> None:
        self.crew, self.roots, self._source, self._say = crew, roots, source, say
        self._admitted: dict[str, Hello] = {}  # by id, in the order of the checks

    @property
    def admitted(self) -> list[Hello]:
        """All members that were ever admitted, lost ones included."""
        return list(self._admitted.values())

    def await_workers(self, workers: int, seconds: float) -> list[Seat]:
        """Wait for so many workers and return their seats, members of earlier runs first. Raises UsageError for a
        member that may not work or if there are too few workers, RunFailed if a lost member does not come back."""
        deadline = time.monotonic() + seconds
        while True:
            present = sorted(self.crew.present(), key=lambda one: (one.id not in self._admitted, one.name))
            if sum(member.workers for member in present) >= workers:
                try:
                    for member in present:
                        self._admit(member)
                    return seats(present, workers)
                except HostLost:
                    continue  # it was killed a moment ago and is no longer connected
            if time.monotonic() > deadline:
                raise _too_few(present, workers, lost=bool(self._admitted))
            time.sleep(_POLL_SECONDS)

    def _admit(self, member: Hello) -> None:
        if member.id in self._admitted:
            return
        if member.version != installed_version():
            raise UsageError(
                f"member {member.name} has edbench {member.version}, this command is {installed_version()}: give all hosts one"
                " version"
            )
        self._look_at(member)
        offset, error = self.crew.offset(member)
        if abs(offset) - error > _MOST_OFFSET_SECONDS:
            raise UsageError(
                f"the clock of member {member.name} is {abs(offset):,.1f} s "
                f"{'ahead of' if offset > 0 else 'behind'} this one's, so its calls would have wrong times: "
                "synchronise it"
            )
        storage = self.roots["storage"]
        self._say(
            f"member {member.name}: {member.host['processors']:g} cores, {mounted(member.storage)} at"
            f" {member.roots['storage']}, clock {offset * 1e3:+.3f} ms from this one's (within {error * 1e3:.3f} ms)"
        )
        for other in self._admitted.values():
            refuse_other_mount(storage, (other.name, other.storage), (member.name, member.storage))
        self._admitted[member.id] = member

    def _look_at(self, member: Hello) -> None:
        storage = self.roots["storage"]
        with token_in(storage) as (token, text):
            at = Place(root="storage", path=token.name)
            look = Look(token=at, source=place_at(self._source, self.roots))
            try:
                sight = msgspec.convert(self.crew.ask(member, look), Sight)
            except SystemFault as fault:
                raise UsageError(f"member {member.name} cannot be used: {fault}") from fault
            refuse_other_storage(member, sight, storage, token, text, self._source if look.source else None)

    def unseen(self, memory: Path) -> str | None:
        """Return why a directory of this host's memory cannot be null storage: a member sees another directory there,
        or none. Return None if all members share it. Raises HostLost, SystemFault."""
        with token_in(memory) as (token, text):
            look = Look(token=place_at(token, self.roots))  # type: ignore[arg-type]  # it is below the root of null storage
            while True:
                members = self.here()
                try:
                    answers = self.crew.ask_all([(member, look) for member in members])
                    break
                except HostLost:
                    if self.here() == members:
                        raise  # a member is connected and does not answer
        for member, sight in zip(members, (msgspec.convert(answer, Sight) for answer in answers), strict=True):
            if sight.token != text or sight.unseen:
                return (
                    f"member {member.name} does not share this host's memory at {memory.parent}, but null storage "
                    "must be the same for all members"
                )
        return None

    def offsets(self, members: Sequence[Hello]) -> dict[str, tuple[float, float]]:
        """Return for each member's id its clock less this host's, and the error bound. Raises SystemFault, HostLost."""
        return {member.id: self.crew.offset(member) for member in members}

    def here(self) -> list[Hello]:
        """Return the members that are admitted and connected. Raises BrokerFault."""
        present = {hello.id for hello in self.crew.present()}
        return [member for member in self.admitted if member.id in present]

    def drop(self, directories: Sequence[Path], when: str) -> list[Drop]:
        """Have every admitted and connected member drop its caches, all at the same time."""
        places = tuple(filter(None, (place_at(path, self.roots) for path in directories)))
        asked = [(member, DropOrder(places=places)) for member in self.here()]
        answers = self.crew.ask_all(asked, LONG_SECONDS)
        return [
            Drop(when=when, host=member.name, **msgspec.to_builtins(msgspec.convert(answer, Dropped)))
            for (member, _), answer in zip(asked, answers, strict=True)
        ]


def _too_few(present: Sequence[Hello], workers: int, *, lost: bool) -> UsageError | RunFailed:
    many = sum(member.workers for member in present)
    text = f"{workers} workers are required, but {many} are connected"
    if lost:
        return RunFailed(f"{text}: a lost member did not reconnect")
    return UsageError(
        f"{text}: start more: containers with `edbench scale {workers}` on their host, others with `edbench worker`"
    )


def seats(members: Sequence[Hello], workers: int) -> list[Seat]:
    """Distribute so many workers over the members, evenly over client caches first; members without a worker are left
    out. Raises UsageError if two members have the same name."""
    share = dict.fromkeys((member.id for member in members), 0)
    by_cache: dict[tuple[Any, Any], int] = {}
    for _ in range(workers):
        room = [member for member in members if share[member.id] < member.workers]
        chosen = min(room, key=lambda one: (by_cache.get(cache_of(one), 0), share[one.id]))
        share[chosen.id] += 1
        by_cache[cache_of(chosen)] = by_cache.get(cache_of(chosen), 0) + 1
    first, out = 1, []
    names = [member.name for member in members if share[member.id]]
    for name in sorted(names):
        if names.count(name) > 1:
            raise UsageError(f"two members have the name {name}: start one of them with another --member")
    hosts: dict[tuple[Any, Any], str] = {}
    for member in members:
        if share[member.id]:
            host = hosts.setdefault(cache_of(member), member.name)
            out.append(Seat(member, share[member.id], first, host))
            first += share[member.id]
    return out


def cache_of(member: Hello) -> tuple[Any, Any]:
    """Identify a member's client cache: members of one kernel share the pages of a mount that they have in common."""
    return member.host.get("boot_id"), member.storage.get("device")


def described(members: Sequence[Hello]) -> list[dict[str, Any]]:
    """Describe the members for the disclosure."""
    return [{**member.host, "name": member.name, "storage": member.storage} for member in members]


def usable(members: Sequence[Hello], what: str) -> float:
    """Return the CPUs or bytes of memory (`what`) that the members may use together."""
    return sum(capacities((member.host for member in members), what, "boot_id").values())
