"""Limits on what may come out of one loose file (design §3): stops bombs and self-containing archives.

Bytes, items and hand-ons are charged in the order of the children, so a re-run stops at the same place. No counter is
shared between tasks: the rest of a task's allowance is divided, by size, among all that it hands on to others, so that
all tasks together never take more than one alone might. Seconds are a safety net for everything else."""

from __future__ import annotations

import math
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode, expansion_limit

_sandbox_clock: int | None = None


def count_sandbox(pid: int) -> None:
    """Count the CPU time of this process, a sandbox, as ours from now on; 0: no sandbox."""
    global _sandbox_clock
    _sandbox_clock = clock_of(pid) if pid else None


def clock_of(pid: int) -> int:
    """Return the clock ID of clock_gettime(2) for the CPU time of a process. The kernel lets every user read it."""
    return (~pid << 3) | 2  # clock_getcpuclockid(3) as glibc works it out


def processor_seconds() -> float:
    """Return the CPU seconds of this thread and its sandbox; only differences are meaningful. Those of a sandbox that
    died are missing: its slot dies too."""
    own = time.thread_time()
    if _sandbox_clock is None:
        return own
    try:
        return own + time.clock_gettime(_sandbox_clock)
    except OSError:
        return own


if TYPE_CHECKING:
    from sql.ledger import Around, Death

_MORE_DEATHS = 4  # deaths of slots on their way to the last place of a death, after which no slot goes there any more
_MORE_SECONDS = 2.0  # factor on the allowed seconds, after which the same holds


class Stop(Struct):
    """The end of the work on a container or loose file that cost too much."""

    code: ExceptionCode
    detail: str
    places: set[uuid.UUID]  # items ahead at which slots died in this task

    @property
    def reached(self) -> bool:
        """Whether no more children are taken."""
        return not self.places

    @property
    def error(self) -> DocumentError:
        """Exception to record for it."""
        return DocumentError(self.code, self.detail)

    def check(self) -> None:
        """Raise DocumentError once the last place is passed."""
        if not self.places:
            raise self.error


class Charges(Struct):
    """Deaths and seconds of a phase as they affect one task."""

    limits: Limits
    task: uuid.UUID
    spent: Mapping[uuid.UUID, float]  # seconds of finished tasks, by loose file
    _deaths: Counter[uuid.UUID] = field(default_factory=Counter)
    _seconds: Counter[uuid.UUID] = field(default_factory=Counter)
    _causes: dict[uuid.UUID, tuple[ExceptionCode, str]] = field(default_factory=dict)  # of the last death at each item
    _places: defaultdict[uuid.UUID, set[uuid.UUID]] = field(default_factory=lambda: defaultdict(set))
    _full: dict[uuid.UUID, int] = field(default_factory=dict)  # items at which memory was full, in this task
    _stops: dict[uuid.UUID, Stop | None] = field(default_factory=dict)

    def charge(self, death: Death, loose: uuid.UUID | None, around: Iterable[uuid.UUID | None]) -> None:
        """Charge a death to everything around the item, and its seconds to the loose file."""
        if death.item is not None:
            self._causes[death.item] = (death.cause, death.detail)
        for ident in {a for a in around if a is not None}:
            self._deaths[ident] += 1
            if death.item is not None and death.task == self.task:
                self._places[ident].add(death.item)
        if loose is not None:
            self._seconds[loose] += death.seconds  # type: ignore[assignment]
            if death.item is None and death.task == self.task:
                self._full[loose] = min(death.taken, self._full.get(loose, death.taken))

    def stop(self, ident: uuid.UUID, size: int) -> Stop | None:
        """Return how far this task may go with a loose file, or another item with children; None: all the way."""
        if ident not in self._stops:
            self._stops[ident] = self._stop(ident, size)
        return self._stops[ident]

    def _stop(self, ident: uuid.UUID, size: int) -> Stop | None:
        deaths, allowed = self._deaths[ident], self.limits.deaths_of(size)
        seconds, time = self._seconds_of(ident), self.limits.seconds_of(size)
        if deaths < allowed and seconds < time:
            return None
        hopeless = deaths >= allowed + _MORE_DEATHS or seconds >= _MORE_SECONDS * time
        places = set() if hopeless else set(self._places[ident])
        if deaths >= allowed:
            return Stop(
                ExceptionCode.DEATHS_LIMIT, f"{deaths} slots died while they read it; the limit is {allowed}", places
            )
        return Stop(ExceptionCode.TIME_LIMIT, f"it took {seconds:.0f} seconds; the limit is {time:.0f}", places)

    def _seconds_of(self, ident: uuid.UUID) -> float:
        return self._seconds[ident] + self.spent.get(ident, 0.0)

    def passed(self, item: uuid.UUID) -> tuple[ExceptionCode, str] | None:
        """Mark this item as reached by the task. Returns the charge against it where a slot died at it inside a
        stopped container or loose file: one death is enough there."""
        verdict = None
        for stop in self._stops.values():
            if stop is not None and item in stop.places:
                stop.places.discard(item)
                verdict = self._causes[item]
        return verdict

    def seconds_left(self, loose: uuid.UUID, size: int) -> float:
        """Return the seconds that this task may spend on a loose file; infinite on the way to earlier deaths."""
        if self.stop(loose, size) is not None:
            return math.inf
        return self.limits.seconds_of(size) - self._seconds_of(loose)

    def room(self, loose: uuid.UUID) -> int | None:
        """Return how many items may be taken out of a loose file that filled a slot's memory: half as many as did."""
        full = self._full.get(loose)
        return None if full is None else full // 2


def of_expand(limits: Limits, task: uuid.UUID, deaths: Sequence[Death], spent: Mapping[uuid.UUID, float]) -> Charges:
    """Return the charges by the positions that the slots recorded: an item, the one directly around it, and the loose
    file."""
    charges = Charges(limits, task, spent)
    for death in deaths:
        charges.charge(death, death.loose, (death.parent, death.loose))
    return charges


class ItemCharges(Struct):
    """Charges for tasks that read items which have rows: the rows record everything around an item."""

    charges: Charges
    around: Mapping[uuid.UUID, Sequence[Around]]  # of the task's items, innermost first

    def refusal(self, item: uuid.UUID) -> DocumentError | None:
        """Return why this item is not read; None if it is. Call it for the items in their order, once each."""
        stops = [self.charges.stop(around.id, around.size) for around in reversed(self.around.get(item, ()))]
        error = next((stop.error for stop in stops if stop is not None and stop.reached), None)
        judged = self.charges.passed(item)
        return DocumentError(*judged) if judged else error


def of_items(
    limits: Limits,
    task: uuid.UUID,
    deaths: Sequence[Death],
    spent: Mapping[uuid.UUID, float],
    around: Mapping[uuid.UUID, Sequence[Around]],
) -> ItemCharges:
    """Return the charges of a task that reads items. `around`: everything around its items and those of the deaths."""
    charges = Charges(limits, task, spent)
    for death in deaths:
        chain = [one.id for one in around.get(death.item, ())] if death.item is not None else []
        charges.charge(death, chain[-1] if chain else None, chain)
    return ItemCharges(charges, around)


_WHILE_AT_IT = 10  # times its size is what an item may give that is handed on before the end of a task
_NO_ITEM = uuid.UUID(int=0)
_DROPS = 10  # members dropped before everything else under this loose file is refused too


class Allowance(Struct, frozen=True):
    """Limits on what may come out of a loose file, or of a part of it that another task takes."""

    extracted: int  # bytes
    children: int
    hand_ons: int

    @classmethod
    def of(cls, limits: Limits, loose_bytes: int) -> Allowance:
        """Return the allowance of a whole loose file."""
        ratio_limit = max(limits.expansion_floor, int(limits.expansion_ratio * loose_bytes))
        return cls(min(limits.extracted_bytes, ratio_limit), limits.children, limits.hand_ons)

    def shared(self, weights: Sequence[int], total: int | None = None) -> list[Allowance]:
        """Divide the allowance by weight. `total`: of weights, those to come included."""
        total = max(1, sum(weights), total or 0)
        return [
            Allowance(self.extracted * w // total, self.children * w // total, self.hand_ons * w // total)
            for w in weights
        ]


class Budget:
    """Bytes, items and seconds that one task takes out of one loose file, or of a part of it."""

    def __init__(
        self,
        limits: Limits,
        loose_bytes: int,
        *,
        loose: uuid.UUID = _NO_ITEM,
        allowance: Allowance | None = None,  # None: this task has all of the loose file
        seconds: float | None = None,  # None: none are spent yet
        room: int | None = None,  # items that fit into memory, where they once did not
        stop: Stop | None = None,  # the loose file's
        clock: Callable[[], float] = processor_seconds,
    ) -> None:
        self._allowance = allowance or Allowance.of(limits, loose_bytes)
        self.allowed = self._allowance.extracted
        self.loose = loose
        self.loose_bytes = loose_bytes
        self.spent = 0
        self.children = 0
        self._hand_ons = 0
        self._given = Allowance(0, 0, 0)
        self._drops = 0
        self._seconds = limits.seconds_of(loose_bytes) if seconds is None else seconds
        self._room = room
        self._stop = stop
        self._clock = clock
        self._begun = clock()
        self._ended: float | None = None

    @property
    def seconds(self) -> float:
        """CPU time of this slot and its sandbox from when the budget was made until it was ended."""
        return (self._clock() if self._ended is None else self._ended) - self._begun

    def end(self) -> None:
        """End the count of seconds: the task continues with another loose file, or part."""
        self._ended = self._clock()

    def check(self) -> None:
        """Raise DocumentError when the loose file costs too much; called before another child is taken."""
        if self._stop is not None:
            self._stop.check()
        if (seconds := self.seconds) > self._seconds:
            raise DocumentError(
                ExceptionCode.TIME_LIMIT,
                f"{seconds:.0f} seconds were spent; {max(0.0, self._seconds):.0f} were available for this loose file",
            )
        if self._room is not None and self.children >= self._room:
            raise DocumentError(
                ExceptionCode.MEMORY, f"its items filled the memory of a slot; only the first {self._room} have rows"
            )

    def foresee(self, announced: int) -> None:
        """Refuse a child whose announced size alone would break the limit, before a byte of it is written."""
        if self._drops >= _DROPS:
            raise expansion_limit(f"{_DROPS} items in this loose file were over the limit of {self.allowed}")
        if self.spent + announced > self.allowed:
            self._drops += 1
            raise self._over(announced)

    def charge(self, amount: int) -> None:
        """Charge the bytes of a child. Raises DocumentError(expansion_limit) instead if they exceed the limit."""
        if self.spent + amount > self.allowed:
            self._drops += 1
            raise self._over(amount)
        self.spent += amount

    def count_child(self) -> None:
        """Count one more child; raises DocumentError(children_limit)."""
        allowed = self._allowance.children - self._given.children
        if self.children >= allowed:
            raise DocumentError(ExceptionCode.CHILDREN_LIMIT, f"more than {allowed} items in one loose file")
        self.children += 1

    def give_back(self, amount: int) -> None:
        """Take back the charge for a child that was dropped."""
        self.spent -= amount

    def hand_on(self, count: int = 1) -> bool:
        """Return whether so many more items or ranges may be left to other tasks; else this task opens them."""
        if self._hand_ons + count > self._allowance.hand_ons - self._given.hand_ons:
            return False
        self._hand_ons += count
        return True

    @property
    def shared(self) -> bool:
        """Whether other tasks got a part of the loose file."""
        return self._hand_ons > 0

    def hand_over(self, weights: Sequence[int], *, more: bool = False) -> list[Allowance]:
        """Divide the rest, by size, among so many items or ranges that other tasks take; the shares are deducted here.

        The whole rest is divided or, if the task has `more` to find, as much as they are likely to need, and half at
        most."""
        left = Allowance(
            max(0, self.allowed - self.spent),
            max(0, self._allowance.children - self.children - self._given.children),
            max(0, self._allowance.hand_ons - self._hand_ons - self._given.hand_ons),
        )
        total = max(2 * sum(weights), left.extracted // _WHILE_AT_IT) if more else None
        shares = left.shared(weights, total)
        self.allowed -= sum(share.extracted for share in shares)
        self._given = Allowance(
            0,
            self._given.children + sum(share.children for share in shares),
            self._given.hand_ons + sum(share.hand_ons for share in shares),
        )
        return shares

    def _over(self, amount: int) -> DocumentError:
        return expansion_limit(
            f"{self.spent + amount} bytes would have been extracted from {self.loose_bytes}; the limit is "
            f"{self.allowed}",
        )
