"""A ledger with tasks in it, and workers as real processes that run them."""

import contextlib
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from forked import Forked, Forker, Program
from installation import PATIENCE
from kombu.exceptions import OperationalError
from made_records import new_job

from core.celery_app import TASK_NAME, make_app, queue_name
from core.records import ROOT_CUSTODIAN, JobOptions, NewTask, Phase
from core.roles import WORKER, Login
from core.settings import DatabaseAddress, Settings
from monitoring.metrics import NOWHERE, Endpoint
from sql import jobs, ledger
from sql.ledger import LEDGER
from sql.session import Database

_HARNESS = Path(__file__).with_name("harness_worker.py")
_ROOT = Path(__file__).parents[3]
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join((str(_ROOT), str(_ROOT / "tests/support/systems"))),
}
T = TypeVar("T")


@dataclass
class Bench:
    """One job in a real database, the sending half of a queue manager, and the workers of the test."""

    database: Database
    broker: str
    scratch: Path
    handed: tuple[Login, ...]
    forker: Forker
    job: uuid.UUID = field(default_factory=uuid.uuid4)
    workers: list[Forked] = field(default_factory=list)

    def until(self, look: Callable[[], T], seconds: float = PATIENCE) -> T:
        """What `look` gives once it is true; fails with the worker's log when it never is."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            assert time.monotonic() < deadline, f"not in time:\n{self.log()}"
            time.sleep(0.02)
        return found

    def log(self) -> str:
        """What the workers said."""
        return "".join(file.read_text() for file in sorted(self.scratch.glob("*.log")))

    def tasks(self, *payloads: dict[str, Any], lease: float = 30.0) -> None:
        """Create a running job with these tasks."""
        made = [
            NewTask(phase=Phase.WALK, weight=1, payload={"item": str(uuid.UUID(int=n + 1)), **payload})
            for n, payload in enumerate(payloads)
        ]
        with self.database.transaction() as conn:
            jobs.create_job(conn, new_job(self.job, made, [ROOT_CUSTODIAN], options=JobOptions(lease_seconds=lease)))

    def send(self) -> int:
        """Dispatch what is pending and send the messages, as the queue manager does; how many went out."""
        with self.database.transaction() as conn:
            ids = ledger.dispatch(conn, self.job, 1_000)
        app = make_app(self.broker)
        sent = 0
        try:
            for task in ids:
                args = [self.database.name, str(self.job), str(task)]
                app.send_task(TASK_NAME, args=args, queue=queue_name(self.database.name))
                sent += 1
        except OperationalError:
            with self.database.transaction() as conn:
                LEDGER.undispatch(conn, tasks=ids[sent:])
        finally:
            app.close()
        return sent

    def rows(self, statement: str) -> list[Any]:
        """Rows of a query."""
        with self.database.transaction() as conn:
            return list(conn.execute(statement))

    def one(self, statement: str) -> Any:
        """The one row of a query."""
        (row,) = self.rows(statement)
        return row

    def done(self, *, resend: bool = True) -> bool:
        """Whether every task is done; sends what is pending again."""
        states = {row.state for row in self.rows("SELECT state FROM task")}
        if resend and "pending" in states:
            self.send()
        return states == {"done"}

    def start(
        self,
        name: str = "w1",
        slots: int = 1,
        grace: float = 10.0,
        memory_mb: int = 1024,
        metrics: Endpoint = NOWHERE,
        stall: int = 600,
        unkillable: bool = False,
        sandbox: bool = False,
    ) -> Forked:
        """A worker; returns once it has registered."""
        settings = Settings(
            databases=(DatabaseAddress(name=self.database.name, url=self.database.url),),
            broker=self.broker,
            storage=self.scratch / "storage",
            scratch=self.scratch,
            slot_memory_mb=memory_mb,
            stall_seconds=stall,
            sandbox=sandbox,  # its tasks parse nothing
            handed=self.handed,
        ).for_role(WORKER)
        worker = self.forker.fork(
            [name, str(slots), str(grace)],
            _ENVIRONMENT
            | settings.environment()
            | metrics.environment()
            | ({"HARNESS_UNKILLABLE": "1"} if unkillable else {}),
            self.scratch / f"{name}.log",
        )
        self.workers.append(worker)
        registered = f"SELECT 1 FROM worker WHERE name = '{name}'"
        self.until(lambda: self.rows(registered) or worker.poll() is not None)
        assert worker.poll() is None, self.log()
        return worker


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """Of workers with the tests' handler."""
    made = Program(_HARNESS, _ENVIRONMENT)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def bench(services: Settings, database: Database, broker_url: str, open_dir: Path, forker: Forker) -> Iterator[Bench]:
    """A bench; its workers are gone after the test."""
    scratch = open_dir / f"worker-{uuid.uuid4().hex}"
    scratch.mkdir()
    bench = Bench(database, broker_url, scratch, services.handed, forker)
    try:
        yield bench
    finally:
        for worker in bench.workers:
            if worker.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
