"""What a loose file may still cost: slots that died in it and seconds spent on it, by all tasks of a phase (design §3.8).

A parser that kills at every item would otherwise be tried on item after item, each with deaths of its own. So every
death is also charged to the item around and to the loose file. What was charged more than it may be is *stopped*: a
task that works on it takes what it passed unharmed before, up to the last place at which a slot of this task died, and
nothing behind it. A task without such a place, or one in which slots went on dying, takes nothing of it at all.

Nothing here follows from positions alone: deaths and seconds depend on the machine. They are the safety net below the
limits that do (worker.costs.budget).
"""

from __future__ import annotations

import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode

if TYPE_CHECKING:
    from sql.costs import Around, Death

_MORE_DEATHS = 4  # of slots on their way to the last place of a death, then nobody goes there any more
_MORE_SECONDS = 2.0  # times what was allowed; likewise


@dataclass(slots=True)
class Stop:
    """The end of the work on a container or loose file that cost too much."""

    code: ExceptionCode
    detail: str
    places: set[uuid.UUID]  # items ahead at which slots died in this task

    @property
    def reached(self) -> bool:
        """Nothing more is taken."""
        return not self.places

    @property
    def error(self) -> DocumentError:
        """What is told of it."""
        return DocumentError(self.code, self.detail)

    def check(self) -> None:
        """Raises DocumentError once the last place is passed."""
        if not self.places:
            raise self.error


@dataclass(slots=True)
class Charges:
    """The deaths and seconds of a phase as they bear on one task."""

    limits: Limits
    task: uuid.UUID
    spent: Mapping[uuid.UUID, float]  # seconds of finished tasks, by loose file
    _deaths: Counter[uuid.UUID] = field(default_factory=Counter)
    _seconds: Counter[uuid.UUID] = field(default_factory=Counter)
    _told: dict[uuid.UUID, tuple[ExceptionCode, str]] = field(default_factory=dict)  # of the last death at each item
    _places: defaultdict[uuid.UUID, set[uuid.UUID]] = field(default_factory=lambda: defaultdict(set))
    _full: dict[uuid.UUID, int] = field(default_factory=dict)  # items at which memory was full, in this task
    _stops: dict[uuid.UUID, Stop | None] = field(default_factory=dict)

    def charge(self, death: Death, loose: uuid.UUID | None, around: Iterable[uuid.UUID | None]) -> None:
        """Take a death on the account of everything around the item, and its seconds on the loose file's."""
        if death.item is not None:
            self._told[death.item] = (death.cause, death.detail)
        for ident in {a for a in around if a is not None}:
            self._deaths[ident] += 1
            if death.item is not None and death.task == self.task:
                self._places[ident].add(death.item)
        if loose is not None:
            self._seconds[loose] += death.seconds  # type: ignore[assignment]
            if death.item is None and death.task == self.task:
                self._full[loose] = min(death.taken, self._full.get(loose, death.taken))

    def stop(self, ident: uuid.UUID, size: int) -> Stop | None:
        """How far this task may go with a loose file, or another item with children; None: all the way."""
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
        """The task has come to this item. What is said against it where a slot died at it in something that is stopped:
        one death is enough there."""
        verdict = None
        for stop in self._stops.values():
            if stop is not None and item in stop.places:
                stop.places.discard(item)
                verdict = self._told[item]
        return verdict

    def seconds_left(self, loose: uuid.UUID, size: int) -> float:
        """Seconds that this task may spend on a loose file; no end while it goes where it has been."""
        if self.stop(loose, size) is not None:
            return math.inf
        return self.limits.seconds_of(size) - self._seconds_of(loose)

    def room(self, loose: uuid.UUID) -> int | None:
        """Items that this task may take out of a loose file whose items filled a slot's memory: half as many as did."""
        full = self._full.get(loose)
        return None if full is None else full // 2


def of_expand(limits: Limits, task: uuid.UUID, deaths: Sequence[Death], spent: Mapping[uuid.UUID, float]) -> Charges:
    """As the slots told where they were: an item, the one directly around it, and the loose file."""
    charges = Charges(limits, task, spent)
    for death in deaths:
        charges.charge(death, death.loose, (death.parent, death.loose))
    return charges


@dataclass(slots=True)
class ItemCharges:
    """The same for tasks that read items which have rows: the rows tell everything around an item."""

    charges: Charges
    around: Mapping[uuid.UUID, Sequence[Around]]  # of the task's items, innermost first

    def refusal(self, item: uuid.UUID) -> DocumentError | None:
        """Why this item is not read; None: it is. Ask for the items in their order, each once."""
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
    """`around`: all around the items of the task and those of the deaths."""
    charges = Charges(limits, task, spent)
    for death in deaths:
        chain = [one.id for one in around.get(death.item, ())] if death.item is not None else []
        charges.charge(death, chain[-1] if chain else None, chain)
    return ItemCharges(charges, around)
