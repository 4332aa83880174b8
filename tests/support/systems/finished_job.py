"""A small corpus with its finished job, discovered by real workers once a session."""

from __future__ import annotations

import dataclasses
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from once import MakeOnce
from servers import OWNER, as_superuser

from controller.databases import JobHandle, find_job, open_databases
from controller.jobs.jobs import create_discovery_job, prepare_source
from controller.jobs.plan import DiscoveryPlan
from controller.jobs.run import Crew, run_all_to_rest
from core.clock import SystemClock
from core.operations import NullRecorder
from core.records import JobOptions, JobState
from core.services import embedded_services
from core.settings import DatabaseAddress, Settings
from core.storage.layer import Storage
from dataset_gen.corpus import generate_corpus
from sql.jobs import get_job
from sql.session import Database


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that has completed, as the tests of what comes afterwards need it."""

    settings: Settings  # with services attached
    corpus: Path
    job: uuid.UUID
    storage: Storage


@pytest.fixture(scope="session")
def finished_corpus(once: MakeOnce) -> Path:
    """Of the reference profile, with a fault of every kind."""
    return once(
        "finished corpus", lambda place: generate_corpus(place, "reference", 0.0005, 11, 1, lambda done, total: None)
    )


@pytest.fixture(scope="session")
def finished(open_dir: Path, finished_corpus: Path) -> Iterator[Finished]:
    """It, discovered by real workers."""
    corpus = finished_corpus
    settings = Settings(storage=open_dir / "verified-storage", scratch=open_dir / "verified-scratch", slots=2)
    filer = Storage(NullRecorder())
    with embedded_services(settings, slots=8) as attached:
        database = open_databases(attached)[0]
        source = prepare_source(filer, corpus)
        job = create_discovery_job(
            database,
            filer,
            settings.storage,
            source,
            DiscoveryPlan(options=JobOptions(), name="verified", workers=1, slots=2),
        )
        with database.transaction() as conn:
            handle = JobHandle(database, get_job(conn, job))
        crew = Crew(settings=attached, ours=True, workers=1, slots=2, env=os.environ)
        said: list[str] = []
        (outcome,) = run_all_to_rest([handle], crew, SystemClock(), lambda snapshot, at: None, said.append)
        database.dispose()
        assert outcome.state is JobState.COMPLETED_WITH_EXCEPTIONS, (outcome, said)
        assert outcome.calls_complete
        yield Finished(attached, corpus, job, filer)


@dataclass(frozen=True, slots=True)
class Copy:
    """The job in a database of one test's own, with files of its own."""

    handle: JobHandle
    settings: Settings
    storage: Storage

    def run(self, statement: str, **parameters: object) -> list[tuple[object, ...]]:
        """One statement on the copy; rows if it gives any."""
        with self.handle.database.transaction() as conn:
            result = conn.exec_driver_sql(statement, parameters)
            return [tuple(row) for row in result] if result.returns_rows else []


@contextmanager
def copied(finished: Finished, home: Path) -> Iterator[Copy]:
    """A copy of the finished job that may be spoiled; its files lie in `home`."""
    address = finished.settings.databases[0]
    name = f"copy_{uuid.uuid4().hex}"
    as_superuser(finished.settings, f"CREATE DATABASE {name} TEMPLATE {address.name} OWNER {OWNER}")
    url = address.url.replace(f"/{address.name}?", f"/{name}?")
    database = Database(name, url)
    root = home / "storage"
    shutil.copytree(finished.settings.storage, root)
    own = (DatabaseAddress(name=name, url=url),)
    settings = dataclasses.replace(finished.settings, storage=root, scratch=home / "scratch", databases=own)
    try:
        yield Copy(find_job([database], str(finished.job)), settings, finished.storage)
    finally:
        database.dispose()
        as_superuser(finished.settings, f"DROP DATABASE {name} WITH (FORCE)")
