"""A job in a real ledger, and hands to move it."""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from made_records import loose_file, new_job

from core.places import item_id
from core.records import ClaimedTask, JobOptions, NewTask, Phase
from readers.records import Kind
from sql import jobs, ledger
from sql.findings import Item, TaskResult
from sql.session import Database


class LedgerHands:
    """Shortcuts over one database; each call is a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def create(
        self, tasks: Sequence[NewTask] | int = 3, options: JobOptions | None = None, name: str = "job"
    ) -> uuid.UUID:
        job = uuid.uuid4()
        if isinstance(tasks, int):
            tasks = [NewTask(phase=Phase.WALK, weight=n, payload={"n": n}) for n in range(tasks)]
        odd = {"name": name, "client": "client", "project": "project", "workers": 2, "slots": 4}
        odd |= {"source": b"/source/\xff", "device": 2**64 - 7, "inode": 2**63 + 1, "storage": b"/storage/\xff"}
        with self.database.transaction(durable=True) as conn:
            jobs.create_job(conn, new_job(job, tasks, [b"_root", b"m\xfcller"], options=options or JobOptions(), **odd))
        return job

    def dispatch(self, job: uuid.UUID, limit: int = 100) -> list[uuid.UUID]:
        with self.database.transaction() as conn:
            return ledger.dispatch(conn, job, limit)

    def claim(
        self, task: uuid.UUID, job: uuid.UUID | None = None, token: uuid.UUID | None = None
    ) -> ClaimedTask | None:
        """As a slot with a message of this task would; `job`: that the message names, by default the task's own."""
        with self.database.transaction() as conn:
            own = conn.execute("SELECT job FROM task WHERE id = %(id)s", {"id": task}).scalar_one_or_none()
            return ledger.claim(conn, job or own or uuid.uuid4(), task, token or uuid.uuid4(), "w1", 0)

    def take(self, job: uuid.UUID) -> ClaimedTask:
        """Dispatch and claim one task."""
        (task,) = self.dispatch(job, 1)
        claimed = self.claim(task)
        assert claimed is not None
        return claimed

    def finish(self, claimed: ClaimedTask, result: TaskResult | None = None) -> None:
        with self.database.transaction() as conn:
            ledger.finish(conn, claimed, result or TaskResult())

    def rows(self, sql: str, **parameters: Any) -> list[Any]:
        with self.database.transaction() as conn:
            return list(conn.execute(sql, parameters).all())

    def value(self, sql: str, **parameters: Any) -> Any:
        with self.database.transaction() as conn:
            return conn.execute(sql, parameters).scalar_one()

    def run(self, sql: str, **parameters: Any) -> int:
        with self.database.transaction() as conn:
            return conn.execute(sql, parameters).rowcount

    def state(self, task: uuid.UUID) -> str:
        return str(self.value("SELECT state FROM task WHERE id = %(id)s", id=task))

    @staticmethod
    def item(job: uuid.UUID, ordinal: bytes, parent: uuid.UUID | None = None, **changes: Any) -> Item:
        given: dict[str, Any] = {"custodian": 1, "ordinal": ordinal, "name": ordinal, "sha256": b"\1" * 32}
        if parent is not None:
            given |= {"parent": parent, "depth": 1, "kind": Kind.ARCHIVE_MEMBER}
        return loose_file(item_id(job, parent, ordinal), **(given | changes))


@pytest.fixture
def hands(database: Database) -> LedgerHands:
    """Hands over this test's database."""
    return LedgerHands(database)
