"""One slot without its process: the task protocol on a real ledger and real files, one step at a time."""

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from made_records import new_job
from recording import MemoryRecorder
from servers import as_role

from core.places import index_location, items_location, job_location
from core.records import JobOptions, NewTask, Phase
from core.roles import QUEUE_MANAGER, WORKER, Login
from core.settings import Settings
from core.storage.layer import Storage
from search.publisher import OpenShards
from sql import jobs, ledger, states
from sql.findings import TaskResult
from sql.requeue import requeue
from sql.session import Database
from worker import run_task
from worker.phases.task import TaskWork, path_text
from worker.run_task import handle
from worker.slots.breadcrumb import Breadcrumb
from worker.slots.context import SlotContext


class SelectingRecorder(MemoryRecorder):
    """Keeps all calls; the phase they belong to does not matter here."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        return None


@dataclass
class TaskBench:
    """A job over a source directory, and the slot that does its tasks, each by its own role's login."""

    database: Database
    home: Path
    logins: Sequence[Login]
    options: JobOptions = field(default_factory=JobOptions)
    job: uuid.UUID = field(default_factory=uuid.uuid4)

    def __post_init__(self) -> None:
        self.source.mkdir()
        self.managers = as_role(self.database, self.logins, QUEUE_MANAGER)
        self.slots = as_role(self.database, self.logins, WORKER)
        self.context = self.slot("w1")

    @property
    def source(self) -> Path:
        return self.home / "source"

    @property
    def storage_root(self) -> Path:
        return self.home / "storage"

    @property
    def items_folder(self) -> Path:
        return self.storage_root / items_location(self.job).decode()

    def shard_folder(self, shard: uuid.UUID) -> Path:
        return self.storage_root / index_location(self.job, shard).decode()

    def take_over(self, patch: pytest.MonkeyPatch, phase: Phase, task: uuid.UUID) -> None:
        """From now on `task`, of this phase, is given to another claim at the end of whoever's work on it."""
        body = run_task.BODIES[phase]

        def slow(work: TaskWork) -> TaskResult:
            result = body(work)
            self.lose(task)
            return result

        patch.setitem(run_task.BODIES, phase, slow)

    def slot(self, worker: str, storage: Storage | None = None) -> SlotContext:
        """A slot's context with shards of its own."""
        recorder = SelectingRecorder()
        scratch = self.home / "scratch" / worker
        return SlotContext(
            settings=Settings(storage=self.storage_root, scratch=scratch),
            worker=worker,
            slot=0,
            incarnation=uuid.uuid4(),
            databases={self.database.name: self.slots},
            recorder=recorder,
            storage=storage or Storage(recorder),
            breadcrumb=Breadcrumb(),
            scratch=scratch,
            shards=OpenShards(scratch),
        )

    def create(self, directories: Sequence[bytes] = (b"",), tasks: Sequence[NewTask] | None = None) -> None:
        """The job as the controller creates it, over the source as it is now."""
        (self.storage_root / job_location(self.job).decode()).mkdir(parents=True)
        found = os.stat(self.source)
        place = {"source": os.fsencode(self.source), "device": found.st_dev, "inode": found.st_ino}
        place["storage"] = os.fsencode(self.storage_root)
        payload = {"custodian": 0, "directories": [path_text(d) for d in directories], "files_only": False}
        walk = [NewTask(phase=Phase.WALK, weight=1, payload=payload)]
        with self.database.transaction(durable=True) as conn:
            jobs.create_job(conn, new_job(self.job, tasks or walk, [b"ann"], options=self.options, **place))

    def dispatch(self) -> list[uuid.UUID]:
        with self.managers.transaction() as conn:
            return ledger.dispatch(conn, self.job, 1_000)

    def handle(self, task: uuid.UUID, context: SlotContext | None = None) -> None:
        handle(context or self.context, self.database.name, self.job, task)

    def drain(self, context: SlotContext | None = None) -> None:
        """Every task of the current phase, follow-on tasks included."""
        while tasks := self.dispatch():
            for task in tasks:
                self.handle(task, context)

    def advance(self) -> object:
        with self.managers.transaction(durable=True) as conn:
            return states.advance(conn, self.job)

    def until(self, phase: Phase) -> None:
        """Do all phases before this one."""
        while True:
            with self.database.transaction() as conn:
                found = jobs.get_job(conn, self.job)
            assert found.state.value == "running", found.reason
            if found.phase is phase:
                return
            self.drain()
            assert self.advance(), f"{found.phase} did not end"

    def run(self) -> str:
        """The whole job; its final state."""
        self.until(Phase.FINALISE)
        self.drain()
        return str(self.advance())

    def rows(self, sql: str, **parameters: Any) -> list[Any]:
        with self.database.transaction() as conn:
            return list(conn.execute(sql, parameters))

    def value(self, sql: str, **parameters: Any) -> Any:
        ((value,),) = self.rows(sql, **parameters)
        return value

    def codes(self) -> dict[str, list[str]]:
        """Exception codes by container path."""
        rows = self.rows(
            "SELECT array_to_string(container_path, '/') AS path, array_agg(code ORDER BY code) AS codes "
            "FROM item JOIN exception ON exception.item = item.id GROUP BY 1"
        )
        return {row.path: list(row.codes) for row in rows}

    def paths(self) -> set[str]:
        return {row[0] for row in self.rows("SELECT array_to_string(container_path, '/') FROM item")}

    def reason(self) -> tuple[str, str | None]:
        (row,) = self.rows("SELECT state, reason FROM job WHERE id = %(job)s", job=self.job)
        return row.state, row.reason

    def lose(self, task: uuid.UUID) -> None:
        """Its lease lapses: another claim may have it."""
        self.rows("UPDATE task SET state = 'pending', lease = NULL WHERE id = %(t)s RETURNING 1", t=task)

    def requeue(self, code: str | None = None) -> int:
        with self.database.transaction(durable=True) as conn:
            return requeue(conn, self.job, self.options, code)

    def resume(self) -> None:
        with self.database.transaction(durable=True) as conn:
            states.request_resume(conn, self.job)

    def close(self) -> None:
        self.context.shards.close()
        self.managers.dispose()
        self.slots.dispose()
