"""A crash of the database server, with as much bad luck as wanted: a job's rows go back to an earlier commit.

With `synchronous_commit = off` a killed server comes back as it was at some commit of the last moments; nobody can
choose at which one. Here the rows are copied after each commit and put back as they were after a chosen one, which is
what recovery does. A durable commit flushes all before it, so none of those can be lost any more."""

import copy
import uuid
from typing import Generic, TypeVar

from sql.session import Database

# What the ledger decides by, parents first.
_TABLES = {
    "job": "id",
    "job_phase": "job",
    "job_pause": "job",
    "task": "job",
    "item": "job",
    "container_count": "job",
    "exception": "job",
    "death": "job",
}
_COPY = "SELECT jsonb_build_object({})::text".format(
    ", ".join(
        f"'{table}', (SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM {table} r WHERE r.{key} = %(job)s)"
        for table, key in _TABLES.items()
    )
)
_PUT = "INSERT INTO {0} SELECT * FROM jsonb_populate_recordset(NULL::{0}, %(rows)s::jsonb -> '{0}')"
M = TypeVar("M")


class LostCommits(Generic[M]):
    """The commits of one job that a crash may take back, each with the model of what the ledger held after it."""

    def __init__(self, database: Database, job: uuid.UUID) -> None:
        self._database = database
        self._job = job
        self._commits: list[tuple[str, M]] = []

    def __len__(self) -> int:
        return len(self._commits)

    def note(self, model: M, *, durable: bool) -> None:
        """A commit: what the ledger holds now, and what the model says of it."""
        with self._database.transaction() as conn:
            rows = conn.execute(_COPY, {"job": self._job}).scalar_one()
        if durable:
            self._commits.clear()
        self._commits.append((rows, copy.deepcopy(model)))

    def crash(self, kept: int) -> M:
        """All commits after number `kept` are lost; the model of what is left. A recovered server has it on disk."""
        rows, model = self._commits[kept]
        with self._database.transaction() as conn:
            conn.execute("DELETE FROM item WHERE job = %(job)s", {"job": self._job})  # has no foreign key to it
            conn.execute("DELETE FROM job WHERE id = %(job)s", {"job": self._job})
            for table in _TABLES:
                conn.execute(_PUT.format(table), {"rows": rows})
        self._commits = [(rows, copy.deepcopy(model))]
        return model
