"""What a worker that lives on does for the traces of jobs that are over: takes what its slots recorded to the storage.

Only then, so that nothing but the job itself loads the filer while its time is measured.
"""

from __future__ import annotations

import logging
import uuid

from sql.session import Database
from sql.traces import over_among
from traces.parts import WorkerParts

log = logging.getLogger(__name__)


class Deliveries:
    """The parts of jobs of one database; a part at a time, because leases have to be renewed between."""

    def __init__(self, parts: WorkerParts, database: Database, worker: uuid.UUID) -> None:
        self._parts = parts
        self._database = database
        self._worker = worker
        self._over: dict[uuid.UUID, float] = {}  # jobs, and when they were found so
        self._fault = ""

    def look(self) -> None:
        """Which jobs are over by now; asks nothing while there are no parts. Raises DatabaseFault."""
        jobs = self._parts.jobs()
        if not jobs:
            return
        with self._database.transaction() as conn:
            self._over = over_among(conn, jobs)

    def step(self) -> None:
        """Deliver a part; what fails is told once and tried again after the next look."""
        if not self._over:
            return
        job, when = next(iter(self._over.items()))
        try:
            if self._parts.deliver_one(job):
                return
            self._parts.mark_done(job, self._worker, when)
            del self._over[job]
        except OSError as error:
            self._over = {}
            if str(error) != self._fault:
                self._fault = str(error)
                log.warning("calls recorded for the trace of job %s stay on scratch: %s", job, error)
