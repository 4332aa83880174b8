"""Corpora, an installation without jobs, and one with a finished job: each is made once a test run."""

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
from servers import OWNER, as_superuser, copy_scratch

from controller.databases import JobHandle, find_job, open_databases
from controller.jobs.jobs import create_discovery_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.run import processes, run_all_to_rest
from controller.jobs.source import prepare_source
from core.clock import SystemClock
from core.records import JobOptions, JobState
from core.services import embedded_services
from core.settings import DatabaseAddress, Settings
from core.storage.layer import Storage
from dataset_gen.corpus import generate_corpus
from sql.jobs import get_job
from sql.session import Database

_SLOTS = 2


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
    return once("finished corpus", lambda place: _generate(place, 0.0005, 11))


@pytest.fixture(scope="session")
def small_corpus(once: MakeOnce) -> Path:
    """The same with few bytes: a dozen tasks in each phase, in the middle of which a job can be held."""
    return once("small corpus", lambda place: _generate(place, 0.0001, 7))


@pytest.fixture(scope="session")
def tiny_corpus(once: MakeOnce) -> Path:
    """With fewer still: some hundred items of every format, for what runs many jobs over it."""
    return once("tiny corpus", lambda place: _generate(place, 0.00005, 7))


@pytest.fixture(scope="session")
def empty_scratch(once: MakeOnce) -> Path:
    """Of an installation whose database is made and holds no job: to make it takes longer than most jobs of tests."""
    return once("empty scratch", lambda scratch: _make_databases(scratch, "db1"))


@pytest.fixture(scope="session")
def two_databases(once: MakeOnce) -> Path:
    """Of one with two servers."""
    return once("two databases", lambda scratch: _make_databases(scratch, "db1", "db2"))


def _make_databases(scratch: Path, *names: str) -> None:
    with embedded_services(Settings(scratch=scratch), databases=names, slots=1) as running:
        for database in open_databases(running):
            database.dispose()
        # Nothing that a test kills takes the page cache along; the machine itself does not crash.
        for name in names:
            as_superuser(running, "ALTER SYSTEM SET fsync = off", server=name)


def _generate(place: Path, scale: float, seed: int) -> None:
    generate_corpus(place, "reference", scale, seed, 1, lambda done, total: None)


@pytest.fixture(scope="session")
def finished(open_dir: Path, finished_corpus: Path, once: MakeOnce) -> Iterator[Finished]:
    """It, discovered by real workers. Each process of the run has servers of its own over a copy of the database; what the
    job wrote is one for all."""
    made = once("finished job", lambda place: _discovered(finished_corpus, place))
    scratch = open_dir / "verified-scratch"
    copy_scratch(made / "scratch", scratch)
    settings = Settings(storage=made / "storage", scratch=scratch, slots=_SLOTS)
    with embedded_services(settings, slots=_SLOTS) as attached:
        yield Finished(attached, finished_corpus, uuid.UUID((made / "job").read_text()), Storage())


def _discovered(corpus: Path, place: Path) -> None:
    """Leaves `scratch`, with the database of servers that have ended, `storage` and the id of the `job`."""
    place.mkdir()
    place.chmod(0o711)
    filer, clock = Storage(), SystemClock()
    settings = Settings(storage=place / "storage", scratch=place / "scratch", slots=_SLOTS)
    with embedded_services(settings, slots=_SLOTS) as attached:
        (database,) = open_databases(attached)
        options = JobOptions(fail_if=("items<1", "p99.read>1us"))
        plan = DiscoveryPlan(options=options, name="verified", workers=1, slots=_SLOTS)
        job = create_discovery_job(database, filer, settings.storage, prepare_source(filer, corpus), plan)
        with database.transaction() as conn:
            handle = JobHandle(database, get_job(conn, job))
        workers = processes(attached, 1, _SLOTS, os.environ)
        shown: list[str] = []
        (outcome,) = run_all_to_rest([handle], attached, workers, clock, lambda snapshot, at: None, shown.append)
        database.dispose()
        as_superuser(attached, "ALTER SYSTEM SET fsync = off")  # of those that copy it
    assert outcome.state is JobState.COMPLETED_WITH_EXCEPTIONS, (outcome, shown)
    assert outcome.calls_complete
    (place / "job").write_text(str(job))


@dataclass(frozen=True, slots=True)
class Copy:
    """The job in a database of one test's own, with files of its own."""

    handle: JobHandle
    settings: Settings
    storage: Storage

    def run(self, statement: str, **parameters: object) -> list[tuple[object, ...]]:
        """One statement on the copy; rows if it gives any."""
        with self.handle.database.transaction() as conn:
            result = conn.execute(statement, parameters)
            return [tuple(row) for row in result] if result.returns_rows else []


@contextmanager
def copied(finished: Finished, home: Path, *, files: bool = True) -> Iterator[Copy]:
    """A copy of the finished job that may be spoiled; its files lie in `home`. Without `files` those of the storage are the job's
    own, which nobody may change."""
    address = finished.settings.databases[0]
    name = f"copy_{uuid.uuid4().hex}"
    as_superuser(finished.settings, f"CREATE DATABASE {name} TEMPLATE {address.name} STRATEGY FILE_COPY OWNER {OWNER}")
    url = address.url.replace(f"/{address.name}?", f"/{name}?")
    database = Database(name, url)
    root = finished.settings.storage
    if files:
        root = Path(shutil.copytree(root, home / "storage"))
    own = (DatabaseAddress(name=name, url=url),)
    settings = dataclasses.replace(finished.settings, storage=root, scratch=home / "scratch", databases=own)
    try:
        yield Copy(find_job([database], str(finished.job)), settings, finished.storage)
    finally:
        database.dispose()
        as_superuser(finished.settings, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def handle(finished: Finished) -> Iterator[JobHandle]:
    """The finished job; for reading only."""
    databases = open_databases(finished.settings)
    try:
        yield find_job(databases, str(finished.job))
    finally:
        for database in databases:
            database.dispose()


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the finished job of one test's own, which may be spoiled."""
    with copied(finished, tmp_path) as made:
        yield made
