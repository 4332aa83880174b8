"""Writing of what a task has found so far, so that a slot's memory does not grow with it (decision 0042)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from core.clock import Clock
from core.errors import DatabaseFault
from core.moments import reached
from core.records import ClaimedTask
from sql import ledger
from sql.connection import Connection
from sql.findings import TaskResult
from sql.session import Database

_T = TypeVar("_T")
ROWS = 10_000  # findings that a task gathers before it writes them
_RETRY_SECONDS = 0.25

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Portions:
    """Portions of one claim. If the database is away for a moment, they wait for it, as the finish does."""

    database: Database
    claimed: ClaimedTask
    clock: Clock
    seconds: float  # time to wait for a database that is away
    rows: int = field(default_factory=lambda: ROWS)
    written: int = field(init=False)  # portions that the ledger must have seen, those of earlier claims included

    def __post_init__(self) -> None:
        self.written = self.claimed.portions

    @property
    def any(self) -> bool:
        """Whether the ledger holds portions that the finish has to know of."""
        return self.written > 0

    def clear(self, alive: Callable[[], None]) -> None:
        """Remove what earlier claims of the task wrote and never finished. Raises TaskLost, DatabaseFault."""
        more = self.any
        while more:
            # The query is repeated if its answer was lost.
            more = self._transact(lambda conn: ledger.take_out(conn, self.claimed, self.written + 1)) is not False
            alive()

    def write(self, task_result: TaskResult) -> None:
        """Write one portion. Raises TaskLost, DatabaseFault."""
        reached("portion")
        self._transact(lambda conn: ledger.write_portion(conn, self.claimed, self.written + 1, task_result))
        reached("portioned")

    def _transact(self, work: Callable[[Connection], _T]) -> _T | None:
        """Commit `work` and return its result; None if it had been committed already and only the answer was lost."""
        deadline = self.clock.monotonic_ns() + int(self.seconds * 1e9)
        unsure = False  # whether a first try may have been committed
        while True:
            try:
                with self.database.transaction() as conn:
                    known = unsure and ledger.portion_is_written(conn, self.claimed, self.written + 1)
                    result = None if known else work(conn)
                self.written += 1
                return result
            except DatabaseFault as e:
                if not e.transient or self.clock.monotonic_ns() > deadline:
                    raise
                log.warning("task %s: retrying to write a part of its findings: %s", self.claimed.id, e)
                unsure = True
                self.clock.sleep(_RETRY_SECONDS)
