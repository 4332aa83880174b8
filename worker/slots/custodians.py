"""The custodians of the job that a slot works for, read once: they are settled when the job is created."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from sqlalchemy import Connection

from sql.items import custodian_names


class Custodians:
    """Names by number of the job asked for last; a slot goes on with one job for a while."""

    def __init__(self) -> None:
        self._read: tuple[uuid.UUID, Mapping[int, str]] | None = None

    def of(self, conn: Connection, job: uuid.UUID) -> Mapping[int, str]:
        """The job's, which may be 100,000."""
        if self._read is None or self._read[0] != job:
            self._read = job, custodian_names(conn, job)
        return self._read[1]
