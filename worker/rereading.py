"""What the items of a task that reads items again cost their loose files (phases index and ocr)."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from readers.errors import DocumentError
from sql.costs import ancestors
from sql.findings import Item
from worker.costs import ItemCharges, of_items, processor_seconds
from worker.phases.task import TaskWork

NOTED_SECONDS = 5.0  # of one loose file in one task; less is not noted: that many items may take it


class ItemCosts:
    """Which of a task's items are not read, because their loose file or a container around them cost too much; and
    what those cost that are."""

    def __init__(
        self, work: TaskWork, items: Sequence[uuid.UUID], clock: Callable[[], float] = processor_seconds
    ) -> None:
        self._work = work
        self._clock = clock
        self._seconds: Counter[tuple[int, str]] = Counter()
        self._one: dict[tuple[int, str], uuid.UUID] = {}  # an item of each loose file
        self._charges = self._look(items) if work.deaths or work.spent else None

    def _look(self, items: Sequence[uuid.UUID]) -> ItemCharges:
        work = self._work
        dead = [death.item for death in work.deaths if death.item is not None]
        with work.database.transaction() as conn:
            around = ancestors(conn, {*items, *dead})
        return of_items(work.job.options.limits, work.claimed.id, work.deaths, work.spent, around)

    @contextmanager
    def of(self, item: Item) -> Iterator[DocumentError | None]:
        """While one item is read: why it is not to be, or None. Ask for the items in their order, each once."""
        begun = self._clock()
        yield self.refusal(item.id)
        # The display name of the loose file stands for it, so that nothing has to be looked up for most tasks.
        loose = (item.custodian, item.container_path[0])
        self._one.setdefault(loose, item.id)
        self._seconds[loose] += self._clock() - begun  # type: ignore[assignment]

    def refusal(self, item: uuid.UUID) -> DocumentError | None:
        """Why it is not to be read; None: it is."""
        refusal = self._charges.refusal(item) if self._charges is not None else None
        if item in self._work.convicted:
            return DocumentError(*self._work.convicted[item])
        return refusal

    def spent(self) -> dict[uuid.UUID, float]:
        """Seconds by loose file, of those that took long."""
        slow = {self._one[loose]: s for loose, s in self._seconds.items() if s >= NOTED_SECONDS}
        if not slow:
            return {}
        with self._work.database.transaction() as conn:
            around = ancestors(conn, slow)
        spent: Counter[uuid.UUID] = Counter()
        for item, seconds in slow.items():
            if item in around:
                spent[around[item][-1].id] += seconds
        return dict(spent)
