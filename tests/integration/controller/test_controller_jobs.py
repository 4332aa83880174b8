"""A job's life through the controller, on a real database."""

import itertools
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from installation import PATIENCE, until
from statements import statements_of

from benchmarks.driver import bare_job
from controller.__main__ import main, prepare
from controller.browse.counts import count_job
from controller.custody import actions_of
from controller.databases import JobHandle, find_job, newest_jobs
from controller.jobs.documents import holds_of
from controller.jobs.jobs import (
    cancel_job,
    create_discovery_job,
    delete_job,
    job_directory,
    pause_job,
    resume_job,
    settle_job,
    wait_for_orphan,
)
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.overview import JobRow, Overview
from controller.jobs.run import LOST_SECONDS, wait_all
from controller.jobs.source import prepare_source
from controller.labels.jobs import KEEP_SECONDS
from core.errors import DatabaseFault, StorageFault, SystemFault, UsageError
from core.operations import NullRecorder
from core.program import Stop
from core.records import JobOptions, JobState, Phase
from core.services.shared_storage import TOKEN
from core.settings import DatabaseAddress, Settings
from core.storage.layer import Storage
from sql import ledger, states
from sql.jobs import JOBS, get_job
from sql.session import Database
from sql.workers import LIVE_SECONDS, WORKERS, NewWorker, register

FILER = Storage()


class FastClock:
    """A clock whose sleeps cost no time."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic_ns(self) -> int:
        return int(self.seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def handle(database: Database, tmp_path: Path) -> JobHandle:
    """A fresh job over two custodians and a stray file."""
    source = tmp_path / "source"
    for name in ("anna", "bert"):
        (source / name).mkdir(parents=True)
    (source / "stray.txt").write_bytes(b"x")
    prepared = prepare_source(FILER, source)
    job = create_discovery_job(
        database,
        FILER,
        tmp_path / "store",
        prepared,
        DiscoveryPlan(options=JobOptions(), client="c", project="p", workers=2, slots=4),
    )
    with database.transaction() as conn:
        return JobHandle(database, get_job(conn, job))


def claim_one(handle: JobHandle) -> None:
    """Have one task run."""
    with handle.database.transaction() as conn:
        task = ledger.dispatch(conn, handle.id, 1)[0]
        assert ledger.claim(conn, handle.id, task, uuid.uuid4(), "w1", 0) is not None


def test_a_job_is_created_whole(handle: JobHandle, tmp_path: Path) -> None:
    with handle.database.transaction() as conn:
        assert [c.name for c in JOBS.custodians(conn, job=handle.id)] == [b"anna", b"bert", b"_root"]
        assert len(ledger.dispatch(conn, handle.id, 100)) == 3
    assert os.path.isdir(job_directory(tmp_path / "store", handle.id))
    assert handle.job.source == os.fsencode(tmp_path / "source")
    assert handle.job.name == "source"
    summary = newest_jobs([handle.database])[0][1]
    assert (summary.client, summary.project, summary.workers_planned, summary.slots_planned) == ("c", "p", 2, 4)


def test_jobs_are_found_by_what_people_type(handle: JobHandle) -> None:
    """A whole id, an unambiguous beginning, and `last`; anything else is a usage error."""
    databases = [handle.database]
    for text in (str(handle.id), handle.id.hex[:6], str(handle.id).upper()[:10], "last", "LAST"):
        assert find_job(databases, text).id == handle.id
    other = "f" if handle.id.hex[0] != "f" else "e"
    for text, why in ((other, "there is no job"), *((bad, "not the beginning") for bad in ("", "%", "a_", "0" * 33))):
        with pytest.raises(UsageError, match=why):
            find_job(databases, text)
    with pytest.raises(UsageError, match="several jobs begin"):
        find_job([*databases, *databases], handle.id.hex[:6])


def register_worker(handle: JobHandle) -> uuid.UUID:
    """A worker that lives."""
    incarnation = uuid.uuid4()
    with handle.database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=incarnation, name="w1", host="h", pid=1, boot_id="b", slots=4, version="0")
        )
    return incarnation


def test_a_pause_waits_for_what_runs_but_not_for_the_dead(handle: JobHandle) -> None:
    worker = register_worker(handle)
    claim_one(handle)
    assert pause_job(handle) is JobState.PAUSING
    assert settle_job(handle, FastClock(), 5.0) is JobState.PAUSING
    with handle.database.transaction() as conn:
        WORKERS.worker_stopped(conn, incarnation=worker)
    assert settle_job(handle, FastClock(), 5.0) is JobState.PAUSED


def test_an_orphan_is_taken_up_again(handle: JobHandle) -> None:
    """A job that runs on paper while no worker lives was left by a killed command: `resume` goes on with it, and
    does not wait for its leases."""
    claim_one(handle)
    wait_for_orphan(handle, FastClock())
    assert resume_job(handle, attach=True) is JobState.RUNNING
    with handle.database.transaction() as conn:
        assert len(ledger.dispatch(conn, handle.id, 100)) == 3


def test_a_job_with_workers_at_it_is_not_resumed(handle: JobHandle) -> None:
    """A second command may not think itself the owner of what another one is running."""
    register_worker(handle)
    clock = FastClock()
    begin = clock.seconds
    wait_for_orphan(handle, clock)
    assert clock.seconds - begin >= LIVE_SECONDS
    with pytest.raises(UsageError, match="workers are running it"):
        resume_job(handle, attach=True)


def test_delete_removes_rows_and_files_but_not_of_a_running_job(handle: JobHandle, tmp_path: Path) -> None:
    root = tmp_path / "store"
    directory = Path(os.fsdecode(job_directory(root, handle.id)))
    (directory / "items" / "ab").mkdir(parents=True)
    (directory / "items" / "ab" / "file").write_bytes(b"x")
    with pytest.raises(UsageError, match="edbench job cancel"):
        delete_job(handle, FILER, root)
    assert (directory / "items" / "ab" / "file").exists()
    cancel_job(handle)
    delete_job(handle, FILER, root)
    assert not directory.exists()
    assert (tmp_path / "source" / "stray.txt").exists()
    assert newest_jobs([handle.database]) == []
    with handle.database.transaction() as conn:
        for name in ("task", "custodian"):
            assert conn.execute(f"SELECT count(*) FROM {name}").scalar_one() == 0


def test_delete_with_another_storage_root_removes_nothing(handle: JobHandle, tmp_path: Path) -> None:
    """The rows would be gone and the files left; one line says where the files are. The same root under another
    name is the job's all the same."""
    root = tmp_path / "store"
    cancel_job(handle)
    with pytest.raises(UsageError, match=f"EDBENCH_STORAGE={root}") as refused:
        delete_job(handle, FILER, tmp_path / "elsewhere")
    assert "\n" not in str(refused.value)
    assert newest_jobs([handle.database])
    root.rename(tmp_path / "moved")
    delete_job(handle, FILER, tmp_path / "moved")
    assert newest_jobs([handle.database]) == []
    assert list((tmp_path / "moved" / "jobs").iterdir()) == []


def test_waiting_ends_when_the_job_comes_to_rest(handle: JobHandle) -> None:
    """Snapshots go on while it runs, and the last one says how it stands and why."""
    seen = []
    for (snapshot,) in wait_all([handle], FastClock(), check=lambda: None, say=pytest.fail):
        seen.append(snapshot)
        if len(seen) == 3:
            with handle.database.transaction() as conn:
                states.suspend(conn, handle.id, "the filer is gone")
    assert [s.state for s in seen] == [JobState.RUNNING] * 3 + [JobState.SUSPENDED]
    assert seen[-1].reason == "the filer is gone"
    assert {s.phase for s in seen} == {Phase.WALK}


@pytest.mark.parametrize(("end", "action"), [(cancel_job, "cancel"), (partial(resume_job, attach=False), "resume")])
def test_custody_records_a_suspension(handle: JobHandle, end: Callable[[JobHandle], JobState], action: str) -> None:
    """With its reason and its start, once what ends it is recorded; a pause is an action of its own."""
    with handle.database.transaction() as conn:
        states.suspend(conn, handle.id, "the filer is gone")
    end(handle)
    created, suspended, ended = actions_of([handle])
    assert [created.action, suspended.action, ended.action] == ["created", "suspended", action]
    assert suspended.details["reason"] == "the filer is gone"
    assert created.at <= datetime.fromisoformat(suspended.details["since"]) <= suspended.at


def test_no_snapshot_is_made_before_it_is_due_unless_the_state_changes(handle: JobHandle) -> None:
    looks = itertools.count()

    def check() -> None:
        if next(looks) == 5:
            with handle.database.transaction() as conn:
                states.suspend(conn, handle.id, "the filer is gone")

    seen = list(wait_all([handle], FastClock(), check=check, say=pytest.fail, every=1e6))
    assert [snapshot.state for (snapshot,) in seen] == [JobState.RUNNING, JobState.SUSPENDED]


def test_waiting_ends_when_the_workers_do(handle: JobHandle) -> None:
    looks = itertools.count()

    def check() -> None:
        if next(looks) == 2:
            raise SystemFault("w1 ended 5 times")

    with pytest.raises(SystemFault, match="w1"):
        list(wait_all([handle], FastClock(), check=check, say=pytest.fail))


def test_a_lost_database_is_waited_for_a_while(handle: JobHandle) -> None:
    gone = Database("db1", "postgresql+psycopg2://nobody@127.0.0.1:1/db1")
    shown: list[str] = []
    clock = FastClock()
    begin = clock.seconds
    with pytest.raises(DatabaseFault):
        list(wait_all([JobHandle(gone, handle.job)], clock, check=lambda: None, say=shown.append))
    assert LOST_SECONDS <= clock.seconds - begin <= LOST_SECONDS + 2
    assert len(shown) == 1


def test_counts_of_a_fresh_job(handle: JobHandle) -> None:
    """`edbench job show` works from the first second on."""
    shown = holds_of(count_job(handle), handle.database.name).to_json()
    assert (shown["items"], shown["violations"], shown["elapsed_s"]) == (0, [], 0.0)
    assert shown["phases"]["walk"]["tasks_open"] == 3


def test_no_transaction_is_open_while_files_are_deleted(handle: JobHandle, tmp_path: Path) -> None:
    """Files of millions take hours: meanwhile the job is there as `deleting`, nobody waits for its row, and when the
    filer fails half-way the next call ends it."""

    class Watched(Storage):
        fails = True

        def remove_tree(self, path: bytes) -> None:
            with handle.database.transaction() as conn:
                row = conn.execute("SELECT state FROM job FOR UPDATE NOWAIT").scalar_one()
            assert row == "deleting"
            if self.fails:
                raise StorageFault("the filer is away", errno=5)
            super().remove_tree(path)

    filer = Watched(NullRecorder())
    cancel_job(handle)
    with pytest.raises(StorageFault):
        delete_job(handle, filer, tmp_path / "store")
    with pytest.raises(UsageError, match="is deleting"):
        resume_job(handle, attach=False)
    filer.fails = False
    delete_job(handle, filer, tmp_path / "store")
    assert newest_jobs([handle.database]) == []


def test_it_is_ready_once_the_schema_is_there_and_ends_when_asked(
    database: Database, services: Settings, tmp_path: Path
) -> None:
    """Queue manager and workers wait for the file; `docker stop` ends it at once, with status 0."""
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),), broker=services.broker, storage=tmp_path
    )
    ready = tmp_path / "ready"
    code = "import os, sys; from pathlib import Path; from controller.__main__ import main\n"
    code += "sys.exit(main(os.environ, Path(sys.argv[1])))"
    process = subprocess.Popen([sys.executable, "-c", code, str(ready)], env=dict(os.environ) | settings.environment())
    try:
        until(lambda: ready.exists() or process.poll() is not None, "it is ready")
        assert ready.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def test_a_filer_that_is_not_mounted_again_is_not_replaced_by_what_is_below(database: Database, tmp_path: Path) -> None:
    """After the host started again the engine starts the containers on the bare mount point: it has no token, and is refused until
    the filer is back."""
    settings = Settings(databases=(DatabaseAddress(name="db1", url=database.url),), storage=tmp_path)
    prepare(settings, Stop())
    (tmp_path / TOKEN).rename(tmp_path / "of the filer")
    with pytest.raises(StorageFault, match="not the storage that the system was started on"):
        prepare(settings, Stop())
    assert not (tmp_path / TOKEN).exists()
    (tmp_path / "of the filer").rename(tmp_path / TOKEN)
    prepare(settings, Stop())


def test_a_storage_root_that_cannot_be_written_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commonest mistake with containers, told when the system comes up rather than in the first job."""
    env = {
        "EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@127.0.0.1:1/db1",
        "EDBENCH_STORAGE": str(tmp_path / "none"),
    }
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert main(env, tmp_path / "ready") == 1
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
    assert "see EDBENCH_UID" in capsys.readouterr().err
    assert not (tmp_path / "ready").exists()


def test_a_look_at_running_jobs_asks_little_of_each(database: Database) -> None:
    """Promise: the page asks for the list every second. Of each job that runs a look asks for its progress; its labels are
    told once in some seconds, and at once when its state changes."""
    with database.transaction() as conn:
        for number in range(3):
            bare_job(conn, f"j{number}", workers=1, slots=4)
        conn.execute("UPDATE job SET phase = 'index', first_claim_at = clock_timestamp()")
    now = 1_000.0
    overview = Overview(monotonic=lambda: now)

    def look() -> tuple[list[JobRow], int]:
        with statements_of(database) as asked:
            rows, _ = overview.rows([database], state=None, limit=50, offset=0)
        return rows, len(asked)

    first, whole = look()
    now += KEEP_SECONDS / 2
    again, kept = look()
    assert [row.labels for row in again] == [row.labels for row in first]
    assert whole - kept >= 3 * 8  # of read_labels
    assert kept <= 1 + 3 * 7  # the list, and each job's progress and stops
    with database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'pausing' WHERE name = 'j0'")
    _, changed = look()
    assert kept < changed < whole
    now += KEEP_SECONDS
    assert look()[1] == whole
