"""Groups of jobs in two real servers; nothing works on them here."""

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pyarrow as pa
import pytest
from servers import copy_scratch
from statements import add_row

from controller.databases import Jobs, alone, find_job, newest_jobs, open_databases
from controller.jobs.create import (
    create_discovery_group,
    delete_all,
    refuse_member,
    release_group,
    resume_all,
)
from controller.jobs.groups import find, find_group, list_groups, refresh
from controller.jobs.jobs import cancel_job, pause_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from controller.labels.jobs import labels_of_jobs
from controller.labels.rules import CACHED, FilerCache
from controller.timeline.job_status import read_status
from controller.verify.group import _part, _uncovered
from core.errors import UsageError
from core.records import JobOptions, JobState
from core.services import embedded_services
from core.settings import Settings
from core.storage.layer import Storage
from dataset_gen.truth import manifest as m
from sql import jobs as ledger_jobs
from sql.jobs import JOBS
from sql.session import Database

FILER = Storage()


@dataclass(frozen=True, slots=True)
class Place:
    """Two databases, a source and a storage root."""

    databases: list[Database]
    source: Path
    storage: Path

    def create(self, **plan: object) -> Jobs:
        options = DiscoveryPlan(options=JobOptions(), **plan)  # type: ignore[arg-type]
        return create_discovery_group(self.databases, FILER, self.storage, prepare_source(FILER, self.source), options)

    def states(self, group: Jobs) -> list[JobState]:
        return [handle.job.state for handle in refresh(group).each]


@pytest.fixture(scope="module")
def servers(open_dir: Path, two_databases: Path) -> Iterator[Settings]:
    """Two PostgreSQL servers."""
    settings = Settings(storage=open_dir / "groups-storage", scratch=open_dir / "groups-scratch")
    copy_scratch(two_databases, settings.scratch)
    with embedded_services(settings, databases=("db1", "db2"), slots=2) as running:
        yield running


@pytest.fixture
def place(servers: Settings, tmp_path: Path) -> Iterator[Place]:
    """Databases without jobs; what a test leaves is removed."""
    databases = open_databases(servers)
    for custodian in ("ann", "bob", "cid"):
        (tmp_path / "source" / custodian).mkdir(parents=True)
        (tmp_path / "source" / custodian / "note.txt").write_text(custodian)
    try:
        yield Place(databases, tmp_path / "source", tmp_path / "storage")
    finally:
        for database in databases:
            with database.transaction() as conn:
                conn.execute("DELETE FROM job; DELETE FROM job_group")
            database.dispose()


def test_all_jobs_are_there_before_the_first_may_start(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: jobs are held until the last one is made, and are released together."""
    seen: list[JobState] = []

    def looking(group: Jobs) -> None:
        seen.extend(place.states(group))
        release_group(group)

    monkeypatch.setattr("controller.jobs.create.release_group", looking)
    group = place.create()
    assert seen == [JobState.PAUSED, JobState.PAUSED]
    assert place.states(group) == [JobState.RUNNING, JobState.RUNNING]
    assert [handle.database.name for handle in group.each] == ["db1", "db2"]
    for handle in group.each:
        with handle.database.transaction() as conn:
            assert len(JOBS.custodians(conn, job=handle.id)) == 3


def test_a_shard_gives_each_custodian_to_one_database(place: Place) -> None:
    """Promise: the jobs together have the source's custodians, each once."""
    group = place.create(shard=True)
    found = []
    for handle in group.each:
        with handle.database.transaction() as conn:
            found.append({custodian.name for custodian in JOBS.custodians(conn, job=handle.id)})
    assert found[0] | found[1] == {b"ann", b"bob", b"cid"}
    assert not found[0] & found[1]


def test_a_group_that_cannot_be_made_leaves_nothing(place: Place) -> None:
    """Promise: where the second database takes no job, the first one's is gone again, with the copies of the source."""
    with place.databases[1].transaction() as conn:
        conn.execute("ALTER TABLE job RENAME TO no_job")
    try:
        with pytest.raises(psycopg2.ProgrammingError):
            place.create(source_copies=True)
    finally:
        with place.databases[1].transaction() as conn:
            conn.execute("ALTER TABLE no_job RENAME TO job")
    assert list_groups(place.databases) == []
    assert newest_jobs(place.databases) == []
    assert not list((place.storage / "corpora").iterdir())


def test_a_shard_without_work_for_all_is_refused(place: Place) -> None:
    """Promise: a database without any custodian would make the comparison of databases meaningless."""
    for name in ("bob", "cid"):
        (place.source / name / "note.txt").unlink()
        (place.source / name).rmdir()
    with pytest.raises(UsageError, match="needs a custodian for each database"):
        place.create(shard=True)
    assert newest_jobs(place.databases) == []


def test_a_group_is_found_by_its_id_and_as_the_last(place: Place) -> None:
    """Promise: every command can name a group like a job; a job of it can still be named by itself."""
    group = place.create()
    for reference in (str(group.id), group.id.hex[:12], "last"):
        found = find(place.databases, reference)
        assert found.group is not None
        assert found.id == group.id
        assert [handle.id for handle in found.each] == [handle.id for handle in group.each]
    one = find(place.databases, str(group.each[1].id))
    assert one.group is None
    assert one.home.name == "db2"
    assert find_group(place.databases, uuid.uuid4().hex) is None
    with pytest.raises(UsageError, match="there is no job"):
        find(place.databases, uuid.uuid4().hex)
    with pytest.raises(UsageError, match=r"db2.*EDBENCH_DATABASES"):
        find(place.databases[:1], str(group.id))


def test_a_group_is_resumed_and_deleted_as_one(place: Place) -> None:
    """Promise: what is over stays over, the rest runs again; nothing of a group is deleted while a job may change,
    nor one of its jobs alone; a deletion that was cut short is taken up again."""
    group = place.create(source_copies=True)
    pause_job(group.each[0])
    cancel_job(group.each[1])
    assert place.states(group) == [JobState.PAUSED, JobState.CANCELLED]
    assert resume_all(group, attach=False) is JobState.RUNNING
    assert place.states(group) == [JobState.RUNNING, JobState.CANCELLED]
    with pytest.raises(UsageError, match="edbench job cancel"):
        delete_all(group, place.storage)
    with pytest.raises(UsageError, match=f"edbench job delete {group.id}"):
        refuse_member(place.databases, alone(group.each[0]))
    cancel_job(group.each[0])
    with pytest.raises(UsageError, match="nothing to resume"):
        resume_all(group, attach=False)
    with group.each[0].database.transaction() as conn:
        conn.execute("DELETE FROM job")  # as far as a deletion came
    left = find_group(place.databases, group.id.hex)
    assert left is not None
    delete_all(left, place.storage)
    assert newest_jobs(place.databases) == []
    assert list_groups(place.databases) == []
    assert not list((place.storage / "corpora").iterdir())
    with pytest.raises(UsageError):
        find_job(place.databases, str(group.each[1].id))


@pytest.mark.parametrize(("plan", "cached"), [({}, True), ({"source_copies": True}, False), ({"shard": True}, False)])
def test_a_group_counts_each_byte_once(place: Place, plan: dict[str, Any], cached: bool) -> None:
    """Promise: two databases over one source of 1.5 x memory are CACHED, though their jobs discovered 3 x memory
    together; copies of it, and shards, are that many different bytes."""
    group = place.create(**plan)
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle.id) for handle in group.each]
        for conn, _ in jobs:
            conn.execute("UPDATE job SET first_claim_at = clock_timestamp()")
            second = conn.execute("SELECT extract(epoch FROM clock_timestamp())::bigint").scalar_one()
            values = {"host": "h", "processors": 2, "memory_bytes": 1000}
            row = {"second": second, "kind": "worker", "source": "w1", "job": None, "values": values}
            add_row(conn, "observation", **row)
        looks = [ledger_jobs.progress(conn, job) for conn, job in jobs]
        done = [dataclasses.replace(look, raw_bytes=1000, extracted_bytes=500, total_known=True) for look in looks]
        standings = [read_status(conn, job) for conn, job in jobs]
        labels = labels_of_jobs(jobs, standings, done, FilerCache())
        for conn, _ in jobs:
            conn.execute("DELETE FROM observation")
    assert labels == ([CACHED] if cached else [])


def _truth() -> pa.Table:
    """Three items of two custodians; the first and the third have the same bytes."""
    rows = [("ann", 0, 0, ["one"]), ("bob", -1, 0, ["two"]), ("bob", -1, 0, ["one", "three"])]
    columns = {
        m.CUSTODIAN: [row[0] for row in rows],
        m.KIND: ["loose_file"] * 3,
        m.CONTAINER_PATH: [[f"{row[0]}/{n}"] for n, row in enumerate(rows)],
        m.PARENT: [-1, -1, 1],
        m.FAMILY: [0, 1, 1],
        m.DUPLICATE_GROUP: [0, None, 0],
        m.TERMS: [row[3] for row in rows],
    }
    return pa.table(columns)


def test_a_part_of_a_manifest_is_one_by_itself() -> None:
    """Promise: parents and families point at rows of the part; an item whose double is elsewhere is alone here; and
    terms planted only elsewhere are known, so that finding them here is a difference."""
    part = _part(_truth(), {"bob"})
    assert part.table[m.PARENT].to_pylist() == [-1, 0]
    assert part.table[m.FAMILY].to_pylist() == [0, 0]
    assert part.table[m.DUPLICATE_GROUP].to_pylist() == [None, None]
    assert set(_part(_truth(), {"ann"}).terms_elsewhere) == {"one", "two", "three"}
    assert _part(_truth(), {"ann", "bob"}).table[m.DUPLICATE_GROUP].to_pylist() == [0, None, 0]


def test_rows_in_no_job_or_in_several_are_differences() -> None:
    """Promise: a custodian that nobody was given, or two were, does not pass, however sound each job is."""
    assert _uncovered(_truth(), [{"ann"}, {"bob"}], 5) == ((), ())
    counts, examples = _uncovered(_truth(), [{"ann"}, set()], 1)
    assert [(count.what, count.items) for count in counts] == [("missing", 2)]
    assert len(examples) == 1
    counts, _ = _uncovered(_truth(), [{"ann", "bob"}, {"bob"}], 5)
    assert [(count.what, count.items) for count in counts] == [("doubled", 2)]
