"""Jobs held at a barrier (`JobOptions.hold_before`): what is done while all of them are held, and their release."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Sequence

from controller.jobs.run import AT_REST
from core.errors import DatabaseFault
from core.records import JobState
from sql.jobs import get_job, request_resume
from sql.session import Database


class Hold:
    """`meanwhile` is called once, when every job is held; then they are released, even if it failed.

    Where one of them never comes to the barrier, because it is over, paused or suspended, the others continue without
    it: that run is not counted, and no process may wait for ever.
    """

    def __init__(self, jobs: Sequence[tuple[Database, uuid.UUID]], meanwhile: Callable[[], None]) -> None:
        self._jobs = jobs
        self._meanwhile: Callable[[], None] | None = meanwhile
        self._failure: Exception | None = None
        self.over = False  # they were released

    def look(self) -> None:
        """Do what is due; a database that does not answer is asked again at the next look. Raises what `meanwhile`
        raised, once the jobs are released."""
        try:
            self._look()
        except DatabaseFault:
            return
        if self.over and self._failure is not None:
            raise self._failure

    def _look(self) -> None:
        states = [self._state_of(database, job) for database, job in self._jobs]
        if JobState.HELD not in states or not all(state is JobState.HELD or state in AT_REST for state in states):
            return
        call, self._meanwhile = self._meanwhile, None
        if call is not None and set(states) == {JobState.HELD}:
            try:
                call()
            except Exception as failure:  # noqa: BLE001 — raised by `look` when nothing is held any more
                self._failure = failure
        self._let_go()
        self.over = True

    def _state_of(self, database: Database, job: uuid.UUID) -> JobState:
        with database.transaction() as conn:
            return get_job(conn, job).state

    def _let_go(self) -> None:
        """From the same moment: the commits come one right after the other."""
        with contextlib.ExitStack() as commits:
            for database, job in self._jobs:
                conn = commits.enter_context(database.transaction(durable=True))
                if get_job(conn, job).state is JobState.HELD:
                    request_resume(conn, job)
