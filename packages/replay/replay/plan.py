"""Distribution of a replay: the streams of a trace over clients, and its nodes over target paths.

A *client* is one process. A *clone* is the trace replayed once more, on a file tree of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from core.errors import UsageError
from core.plain import grouped
from replay.world import CHANGED, KEEPS_CHILDREN, WRITTEN, Survey
from traces.model import NO_NODE, NodeKind, TraceHeader

CLONES_SPREAD = 0.1  # of the trace's duration: the starts of all clones are within it, evenly
MAX_CLIENTS = 4096
LEAST_SPEED, MOST_SPEED = 1e-3, 1e6  # times recorded
MAX_PATHS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """One pass of the trace, or of a part of its streams."""

    number: int
    clients: tuple[tuple[int, ...], ...]  # for each of its clients the streams that it plays
    shift_ns: int  # delay of its calls' intended starts from the recorded ones, before the speed is applied

    @property
    def key(self) -> str:
        """Name of the scripts, which clones with the same key share; it is a file name."""
        played = [stream for streams in self.clients for stream in streams]
        return f"clients-{len(self.clients)}-streams-{len(played)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Position of one client: the clone, and the index among the clone's clients."""

    clone: Clone
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Result of `plan_replay`; plain data, the same for the same arguments."""

    clones: tuple[Clone, ...]
    paths: int  # number of target directories
    speed: float | None  # times recorded; None: as fast as it goes, or in a closed loop
    closed: bool  # a closed loop: a call starts when the one before it is over and its think time has passed
    shared: bool  # clones share the files that existed before and are only read
    seed: int  # of the files' content

    @property
    def clients(self) -> int:
        """Number of clients of all clones."""
        return sum(len(clone.clients) for clone in self.clones)

    def seat(self, client: int) -> Seat:
        """Return the seat of a client; clients are numbered through the clones in order. Raises IndexError."""
        for clone in self.clones:
            if 0 <= client < len(clone.clients):
                return Seat(clone=clone, position=client)
            client -= len(clone.clients)
        raise IndexError("no such client in this plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayChoice:
    """Options of a replay: how and where."""

    clients: int  # processes, all at the same time
    paths: tuple[str, ...] = ()  # absolute; the files replayed are below them
    speed: float = 1.0  # times the recorded one; 0: no think time
    closed: bool = False  # a closed loop: a call starts when the one before is over and its think time has passed
    shared: bool = False  # clones of the trace share the files that are only read
    seed: int = 0  # of the files' contents

    def plan(self, header: TraceHeader) -> ReplayPlan:
        """Return the plan, the same on every host. Raises UsageError."""
        return plan_replay(
            header, clients=self.clients, paths=len(self.paths) or 1, speed=self.speed or None, closed=self.closed,
            shared=self.shared, seed=self.seed,
        )  # fmt: skip


def plan_replay(
    header: TraceHeader, *, clients: int, paths: int = 1, speed: float | None = 1.0, closed: bool = False,
    shared: bool = False, seed: int = 0,
) -> ReplayPlan:  # fmt: skip
    """Distribute the streams to `clients` processes, for `paths` target directories.

    As many clients as streams: one each. Fewer: all streams are distributed in turn, the busiest first; a client plays
    its streams merged, so the whole trace is played in any case. More: clones of the whole trace, with a client for
    each stream; the remaining clients play one more clone with only so many streams, spread over those of the trace.
    Clone k of n begins k/n of CLONES_SPREAD of the trace's duration later than the first (without think time, or in a
    closed loop: at the same time). Raises UsageError for a trace without calls and for numbers out of range."""
    played = [number for number, stream in enumerate(header.streams) if stream.calls]
    if not played:
        raise UsageError("the trace contains no calls; there is nothing to replay")
    if not 1 <= clients <= MAX_CLIENTS:
        raise UsageError(f"{clients} clients; use from 1 to {MAX_CLIENTS}")
    if not 1 <= paths <= MAX_PATHS:
        raise UsageError(f"{paths} paths; use from 1 to {MAX_PATHS}")
    if speed is not None and not LEAST_SPEED <= speed <= MOST_SPEED:
        raise UsageError(f"speed x{speed:g}; use from x{LEAST_SPEED:g} to x{MOST_SPEED:.0f}, or max")
    dealt = _dealt(header, played, clients)
    if closed:
        speed = None
    spread = 0 if speed is None else round(header.duration_ns * CLONES_SPREAD)
    clones = tuple(Clone(number=k, clients=d, shift_ns=spread * k // len(dealt)) for k, d in enumerate(dealt))
    return ReplayPlan(clones=clones, paths=paths, speed=speed, closed=closed, shared=shared, seed=seed)


def data_sets(streams: int, clients: int) -> int:
    """Return how many clones of a trace with `streams` streams `clients` clients play; 1: they share one trace."""
    return max(1, -(-clients // streams))


def recorded_rate(header: TraceHeader, plan: ReplayPlan) -> float:
    """Return the calls a second of a plan at recorded speed, on average up to its last clone's end."""
    calls = sum(
        header.streams[number].calls for clone in plan.clones for streams in clone.clients for number in streams
    )
    span_ns = max(clone.shift_ns for clone in plan.clones) + header.duration_ns
    return calls * 1e9 / max(1, span_ns)


def _dealt(header: TraceHeader, played: list[int], clients: int) -> list[tuple[tuple[int, ...], ...]]:
    """Return the streams of each client, by clone."""
    if clients < len(played):
        busiest = sorted(played, key=lambda number: (-header.streams[number].calls, number))
        return [tuple(tuple(sorted(busiest[k::clients])) for k in range(clients))]
    whole, rest = divmod(clients, len(played))
    clones: list[tuple[tuple[int, ...], ...]] = [tuple((number,) for number in played)] * whole
    if rest:
        clones.append(tuple((played[k * len(played) // rest],) for k in range(rest)))
    return clones


_MOST_SPLITS = 1_000


class Spread:
    """Per node, 3 bytes each.

    `places`: the path's index; a clone's number is added to it, so that clones begin on different paths. Subtrees stay
    whole, the busiest first on the path with the fewest calls so far. One with more than half a path's share of the
    calls is divided into the subtrees below it, if its directory existed before and is never renamed or removed; that
    directory is then on every path (`everywhere`). A rename from one subtree to another keeps both together. `private`:
    every clone has its own. If the plan is shared, nodes that existed before and are only read are shared. Raises
    UsageError if a path would get nothing to do."""

    def __init__(self, survey: Survey, plan: ReplayPlan) -> None:
        size = len(survey)
        self.everywhere = array("B", repeat(0, size))
        self.private = array("B", repeat(1, size))
        self.places = array("B", repeat(0, size))
        if plan.paths > 1:
            self._divide(survey, plan)
        if plan.shared:
            self._share(survey)

    def _divide(self, survey: Survey, plan: ReplayPlan) -> None:
        below = array("Q", survey.calls)  # calls in the subtree of each node
        for node in range(len(below) - 1, -1, -1):
            if survey.parents[node] != NO_NODE:
                below[survey.parents[node]] += below[node]
        units = self._units(survey, below, plan.paths)
        load = [0] * plan.paths
        placed: dict[int, int] = {}
        groups = [(sum(units[unit] for unit in group), group) for group in self._together(survey, units)]
        for calls, group in sorted(groups, key=lambda one: (-one[0], one[1])):
            place = load.index(min(load))
            load[place] += calls
            placed.update((unit, place) for unit in group)
        busy = sum(1 for calls in load if calls)
        if busy + len(plan.clones) - 1 < plan.paths:
            raise UsageError(
                f"{plan.paths} paths, but the files of the trace can be divided among only {busy}; give fewer paths"
            )
        for node, above in enumerate(survey.parents):
            place = placed.get(node, -1)
            self.places[node] = place if place >= 0 else self.places[above]

    def _units(self, survey: Survey, below: Sequence[int], paths: int) -> dict[int, int]:
        """Return undivided subtrees by top node, with their calls; a divided directory is one itself."""
        parents = np.frombuffer(survey.parents, np.int32)
        units = {root: below[root] for root in np.flatnonzero(parents == NO_NODE).tolist()}
        most = sum(units.values()) / (2 * paths)
        for _ in range(_MOST_SPLITS):
            heavy = [unit for unit, calls in units.items() if self._can_split(survey, unit) and calls > most]
            if not heavy:
                break
            unit = max(heavy, key=lambda one: (units[one], -one))
            self.everywhere[unit] = 1
            units[unit] = survey.calls[unit]
            units.update((child, below[child]) for child in np.flatnonzero(parents == unit).tolist())
        return units

    def _can_split(self, survey: Survey, node: int) -> bool:
        there = survey.is_root(node) or (survey.existed[node] and survey.kinds[node] == NodeKind.DIRECTORY)
        return bool(there and not self.everywhere[node] and not survey.traits[node] & (CHANGED | KEEPS_CHILDREN))

    def _together(self, survey: Survey, units: dict[int, int]) -> Iterable[list[int]]:
        """Return the units in groups that renames tie together."""
        head = {unit: unit for unit in units}

        def group_of(unit: int) -> int:
            while head[unit] != unit:
                head[unit] = head[head[unit]]
                unit = head[unit]
            return unit

        def unit_of(node: int) -> int:
            while node not in units:
                node = survey.parents[node]
            return node

        for old, new in survey.moved:
            one, other = sorted((group_of(unit_of(old)), group_of(unit_of(new))))
            head[other] = one
        return grouped(sorted(units), group_of).values()

    def _share(self, survey: Survey) -> None:
        moved = array("B", repeat(0, len(survey)))  # the node, or a directory above it, is made, renamed or removed
        for node, above in enumerate(survey.parents):
            root = above == NO_NODE
            moved[node] = bool(survey.traits[node] & CHANGED) or (not root and moved[above])
            there = root or survey.existed[node]
            self.private[node] = bool(moved[node] or survey.traits[node] & WRITTEN or not there)
