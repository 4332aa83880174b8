"""No-op tasks through the whole ledger protocol: dispatch, message, claim, the usual checks, finish.

Walk tasks without a directory: every part of the protocol is the real one, only the work is missing.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

from controller.cluster.embedded import EmbeddedCluster
from core.operations import NullRecorder
from core.places import job_location
from core.records import Custodian, JobOptions, JobState, NewTask, Phase
from core.services import embedded_services
from core.settings import Settings
from core.storage.layer import Storage
from sql import jobs
from sql.migrate import migrate
from sql.session import Database

WORKERS, SLOTS = 2, 4


def measure(directory: Path, tasks: int = 3_000) -> float:
    """No-op tasks a second, from the job's creation to the end of its walk phase, workers started before."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch", slots=SLOTS)
    with embedded_services(settings, slots=WORKERS * SLOTS) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        with EmbeddedCluster(running, WORKERS, SLOTS, env=dict(os.environ)):
            run(database, settings, directory, 50)  # everything is up and warm
            return tasks / run(database, settings, directory, tasks)


def run(database: Database, settings: Settings, directory: Path, tasks: int) -> float:
    """Seconds that a job of so many no-op tasks took; workers must be there."""
    job = uuid.uuid4()
    storage = Storage(NullRecorder())
    source = directory / "source"
    source.mkdir(exist_ok=True)
    device, inode = storage.root_identity(os.fsencode(source))
    storage.mkdir(os.path.join(os.fsencode(settings.storage), job_location(job)))
    payload = {"custodian": 0, "directories": [], "files_only": True}
    start = time.monotonic()
    with database.transaction(durable=True) as conn:
        jobs.create_job(
            conn,
            jobs.NewJob(
                id=job,
                name="no-op",
                client="",
                project="",
                source=os.fsencode(source),
                device=device,
                inode=inode,
                options=JobOptions(),
                custodians=[Custodian(number=0, name=b"_root")],
                tasks=[NewTask(phase=Phase.WALK, weight=1, payload=payload)] * tasks,
                workers=WORKERS,
                slots=SLOTS,
            ),
        )
    while True:
        with database.transaction() as conn:
            now = jobs.get_job(conn, job)
        if now.state.over:
            if now.state is not JobState.COMPLETED:
                raise RuntimeError(f"the no-op job ended {now.state}: {now.reason}")
            return time.monotonic() - start
        time.sleep(0.02)
