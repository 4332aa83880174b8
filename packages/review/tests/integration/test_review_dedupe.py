"""De-duplication in real databases: what is equal, which one is the original, and what a broken-off run leaves."""

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from servers import OWNER, as_superuser
from shelf import Shelf, digest

from controller.browse.item_filter import ItemFilter
from controller.browse.items import stream_items
from controller.findings import check_findings
from core.csv_cells import csv_cells
from core.errors import DatabaseFault, UsageError
from core.settings import Settings
from readers.records import NO_FIELDS, Kind
from review.dedupe.run import DUPLICATES, dedupe
from review.kinds import By, Scope
from sql.connection import Connection
from sql.migrate import migrate
from sql.session import Database


@pytest.fixture
def shelf(database: Database) -> Shelf:
    return Shelf(database)


@pytest.fixture
def second(services: Settings) -> Iterator[Database]:
    """Another database of this test's own."""
    name = f"second_{uuid.uuid4().hex}"
    as_superuser(services, f"CREATE DATABASE {name} OWNER {OWNER}")
    database = Database("db2", services.databases[0].url.replace("/db1?", f"/{name}?"))
    try:
        migrate(database)
        yield database
    finally:
        database.dispose()
        as_superuser(services, f"DROP DATABASE {name} WITH (FORCE)")


def test_the_scope_states_who_is_held_against_whom(shelf: Shelf) -> None:
    """The same bytes twice with Anna and once with Boris: by custodian one duplicate, by job two; a container, an empty
    file and one that could not be read are equal to nothing."""
    for custodian, name in (("boris", "a"), ("anna", "b"), ("anna", "c")):
        shelf.loose(custodian, name, "same")
        shelf.loose(custodian, f"{name}.empty", "")
        shelf.loose(custodian, f"{name}.lost", None)
        shelf.loose(custodian, f"{name}.zip", "box", container=True)
    job = shelf.stored()
    found = dedupe([job], Scope.CUSTODIAN, By.ITEM)
    assert (found.items, found.containers, found.compared, found.groups, found.duplicates) == (12, 3, 3, 1, 1)
    assert shelf.names(copies=True) == {"anna/c"}
    found = dedupe([job], Scope.JOB, By.ITEM)
    assert (found.groups, found.copies, found.duplicates, found.duplicate_bytes) == (1, 2, 2, 8)
    assert shelf.names(copies=False) == {"anna/b"}
    assert shelf.rows("SELECT custodians, copies FROM duplicate WHERE job = %(job)s AND NOT copy") == [
        (["anna", "boris"], 2)
    ]


def test_families_stay_together(shelf: Shelf) -> None:
    """A file that is attached in one place and loose in another is a duplicate as an item, and is none as a family; a
    message that has one attachment more is another family, whatever its own hash says; the order of attachments does not
    matter."""
    store = shelf.loose("anna", "a.mbox", "store", container=True)
    for number, attached in enumerate((("x", "y"), ("y", "x"), ("x",))):
        mail = shelf.message(store, number, f"mail {number}", "says")
        for position, holds in enumerate(attached):
            shelf.child(mail, position, f"{holds}.txt", holds)
    shelf.loose("anna", "x.txt", "x")
    job = shelf.stored()
    found = dedupe([job], Scope.JOB, By.ITEM)
    assert (found.groups, found.duplicates) == (3, 2 + 3 + 1)
    found = dedupe([job], Scope.JOB, By.FAMILY)
    assert (found.compared, found.groups, found.copies, found.duplicates) == (4, 1, 1, 3)
    assert shelf.names(copies=True) == {"anna/a.mbox / mail 1" + end for end in ("", " / x.txt", " / y.txt")}
    assert len(shelf.names(copies=False)) == 3
    ((members, originals),) = shelf.rows(
        "SELECT count(*) AS members, count(DISTINCT original) AS originals FROM duplicate d JOIN item i ON i.id = d.item WHERE d.job = %(job)s"
        " AND d.original IN (SELECT id FROM item WHERE container_path = '{anna/a.mbox,mail 0}')"
    )
    assert (members, originals) == (6, 1)


def test_a_family_of_which_something_is_unknown_equals_none(shelf: Shelf) -> None:
    store = shelf.loose("anna", "a.mbox", "store", container=True)
    for number in range(2):
        shelf.child(shelf.message(store, number, f"mail {number}", "says"), 0, "x.txt", None)
    assert dedupe([shelf.stored()], Scope.JOB, By.FAMILY).compared == 0


def test_messages_are_compared_by_their_fields_unless_these_are_unsure(shelf: Shelf) -> None:
    """Other bytes (trace fields, white space) and equal fields are one message. Where an exception was recorded, the text was
    cut, or there is no field at all, as in every damaged Outlook message, the bytes decide."""
    store = shelf.loose("anna", "a.mbox", "store", container=True)
    for number in range(2):
        shelf.message(store, number, f"sound {number}", "says", f"bytes {number}", message_id_hash=b"%d" % number * 16)
        shelf.message(store, 10 + number, f"excepted {number}", "other", f"more {number}")
        shelf.message(store, 20 + number, f"cut {number}", "long", f"beginning {number}")
        shelf.message(store, 30 + number, f"void {number}", "", f"noise {number}", content_hash=NO_FIELDS)
        shelf.message(store, 40 + number, f"void again {number}", "", "the same", content_hash=NO_FIELDS)
    job = shelf.stored()
    with shelf.database.transaction() as conn:
        for statement in (
            "INSERT INTO exception (job, item, code, level, phase, detail, task, token) SELECT job, id, 'truncated', 'node',"
            " 'expand', '', gen_random_uuid(), gen_random_uuid() FROM item WHERE starts_with(display, 'excepted')",
            "INSERT INTO item_text SELECT id, job, CASE WHEN starts_with(display, 'cut') THEN 'truncated_by_limit' ELSE 'ok' END,"
            " 1, 1, '{}' FROM item WHERE NOT container",
        ):
            conn.execute(statement)
    found = dedupe([job], Scope.JOB, By.ITEM)
    assert shelf.names(copies=True) == {"anna/a.mbox / sound 1", "anna/a.mbox / void again 1"}
    assert (found.several_ids, found.several_hashes) == (1, 0)


def test_a_message_id_of_unequal_messages_is_counted(shelf: Shelf) -> None:
    """The Message-ID hash decides nothing; that it says otherwise is told."""
    store = shelf.loose("anna", "a.mbox", "store", container=True)
    for number in range(2):
        shelf.message(store, number, f"mail {number}", f"says {number}", message_id_hash=b"i" * 16)
    found = dedupe([shelf.stored()], Scope.JOB, By.ITEM)
    assert (found.groups, found.several_hashes) == (0, 1)


def _twins(database: Database, order: random.Random) -> tuple[Shelf, Any]:
    """Two equal messages of one name in one store, each with an equal attachment of one name, and an archive that has the
    second's again: what is to be told apart has one path and one ordinal."""
    shelf = Shelf(database)
    store = shelf.loose("boris", "a.mbox", "store", container=True)
    for offset in (9, 700, 10_000):
        shelf.child(shelf.message(store, offset, "mail", "says"), 0, "x.txt", "x")
    numbers = list(range(len(shelf.items)))
    order.shuffle(numbers)
    return shelf, shelf.stored(numbers)


@pytest.mark.parametrize("by", By)
def test_the_original_follows_from_the_data_alone(database: Database, by: By) -> None:
    """Ids are random from job to job and rows come in any order: the original is the first in the store all the same, of what
    is attached too."""
    for seed in range(6):
        shelf, job = _twins(database, random.Random(seed))
        dedupe([job], Scope.JOB, by)
        rows = shelf.rows(
            "SELECT convert_from(coalesce(nullif(i.ordinal, '#0'), p.ordinal), 'UTF8'), d.copy FROM duplicate d"
            " JOIN item i ON i.id = d.item JOIN item p ON p.id = i.parent WHERE d.job = %(job)s"
        )
        assert sorted(rows) == [(n, n != "#9") for n in ("#10000", "#10000", "#700", "#700", "#9", "#9")]


def test_again_gives_the_same_rows_and_killed_leaves_those_of_before(shelf: Shelf) -> None:
    class Killed(Exception):
        pass

    class Dying(Database):
        @contextmanager
        def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
            with super().transaction(durable=durable) as conn:
                yield conn
                if conn.execute("SELECT to_regclass('pg_temp.outcome')").scalar_one() is not None:
                    raise Killed

    for custodian in ("anna", "boris"):
        shelf.loose(custodian, "a", "same")
    job = shelf.stored()
    everything = "SELECT job, item, original, copy, custodians, copies FROM duplicate ORDER BY item"
    first = dedupe([job], Scope.JOB, By.ITEM)
    rows = shelf.rows(everything)
    assert dedupe([job], Scope.JOB, By.ITEM) == first
    assert shelf.rows(everything) == rows
    dying = Dying("db1", shelf.database.url)
    shelf.database, kept = dying, shelf.database
    with pytest.raises(Killed):
        dedupe([shelf.reference()], Scope.CUSTODIAN, By.ITEM)
    dying.dispose()
    shelf.database = kept
    assert shelf.rows(everything) == rows
    assert DUPLICATES.last(job.each, [kept]) == first


def test_several_jobs_in_several_databases(database: Database, second: Database) -> None:
    """Held against each other the first job named has the original; each database has the rows of its own items. A run that
    was killed between two commits is seen as such, and running again mends it."""
    shelves = [Shelf(second), Shelf(database), Shelf(second)]
    for custodian, shelf in zip(("clara", "boris", "anna"), shelves, strict=True):
        shelf.loose(custodian, "a", "same")
        shelf.loose(custodian, "b", f"only with {custodian}")
    jobs = [shelf.stored() for shelf in shelves]
    handles, databases = [handle for job in jobs for handle in job.each], [database, second]
    assert dedupe(jobs, Scope.JOB, By.ITEM).duplicates == 0
    found = dedupe(jobs, Scope.JOBS, By.ITEM)
    assert (found.items, found.groups, found.duplicates) == (6, 1, 2)
    assert [shelf.names(copies=True) for shelf in shelves] == [set(), {"boris/a"}, {"anna/a"}]
    ((custodians, original),) = shelves[0].rows("SELECT custodians, original FROM duplicate WHERE NOT copy")
    assert custodians == ["anna", "boris", "clara"]
    assert shelves[1].rows("SELECT original, original_job FROM duplicate") == [(original, shelves[0].job)]
    assert DUPLICATES.last(handles[:1], databases) == found

    class Gone(Database):
        @contextmanager
        def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
            with super().transaction(durable=durable) as conn:
                yield conn
                if durable:
                    raise DatabaseFault("database db1: gone", transient=True)

    shelves[1].database = Gone("db1", database.url)
    dying = [jobs[0], shelves[1].reference(), jobs[2]]
    with pytest.raises(DatabaseFault):
        dedupe(dying, Scope.JOBS, By.ITEM)
    assert DUPLICATES.last(handles, databases) == found  # it found in one database what stays in the other
    with pytest.raises(DatabaseFault):
        dedupe(dying, Scope.JOBS, By.FAMILY)
    shelves[1].database.dispose()
    for handle in handles:
        with pytest.raises(UsageError, match=rf"changed since; run `edbench review dedupe {handle.id}` again"):
            DUPLICATES.last([handle], databases)
    assert dedupe(jobs, Scope.JOBS, By.ITEM) == found
    assert DUPLICATES.last(handles, databases) == found


def test_only_finished_jobs_and_none_twice(shelf: Shelf) -> None:
    shelf.loose("anna", "a", "x")
    job = shelf.stored()
    with pytest.raises(UsageError, match="was not searched for duplicates yet"):
        DUPLICATES.last(job.each, [shelf.database])
    with pytest.raises(UsageError, match="twice"):
        dedupe([job, job], Scope.JOB, By.ITEM)
    dedupe([job], Scope.JOB, By.ITEM)
    with shelf.database.transaction() as conn:
        conn.execute("UPDATE job SET finished_at = now() + interval '1 day'")
    with pytest.raises(UsageError, match="processed again"):
        DUPLICATES.last(job.each, [shelf.database])
    with shelf.database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'paused'")
    with pytest.raises(UsageError, match="only completed discovery jobs"):
        dedupe([shelf.reference()], Scope.JOB, By.ITEM)


def test_items_are_selected_by_known_findings_only(shelf: Shelf) -> None:
    """Before a first run all would be no duplicates; that is refused."""
    shelf.loose("anna", "a", "x")
    (handle,), databases = shelf.stored().each, [shelf.database]
    check_findings([handle], databases, duplicates=False, system=False)
    with pytest.raises(UsageError, match="was not searched for duplicates yet"):
        check_findings([handle], databases, duplicates=True, system=False)
    dedupe([shelf.reference()], Scope.JOB, By.ITEM)
    check_findings([handle], databases, duplicates=True, system=False)
    with pytest.raises(UsageError, match=r"was not searched for system files yet; run .*--list FILE"):
        check_findings([handle], databases, duplicates=True, system=True)


def test_a_job_that_was_processed_again_makes_findings_of_the_others_old(database: Database) -> None:
    shelves = [Shelf(database), Shelf(database)]
    for shelf in shelves:
        shelf.loose("anna", "a", "same")
    jobs = [shelf.stored() for shelf in shelves]
    found = dedupe(jobs, Scope.JOBS, By.ITEM)
    assert DUPLICATES.last(jobs[1].each, [database]) == found
    with database.transaction() as conn:
        again = "UPDATE job SET finished_at = now() + interval '1 day' WHERE id = %(job)s"
        conn.execute(again, {"job": shelves[0].job})
    with pytest.raises(UsageError, match="jobs that changed since"):
        DUPLICATES.last(jobs[1].each, [database])


def test_duplicates_can_be_listed_and_left_out(shelf: Shelf) -> None:
    shelf.loose("anna", "=a", "same")
    shelf.loose("boris", "b", "same")
    shelf.loose("boris", "c", "other", kind=Kind.LOOSE_FILE)
    job = shelf.stored()
    rows = list(DUPLICATES.stream(job.each, dedupe([job], Scope.JOB, By.ITEM)))
    assert [(row["container_path"], row["duplicate"], row["custodians"]) for row in rows] == [
        (["anna/=a"], False, ["anna", "boris"]),
        (["boris/b"], True, None),
    ]
    assert {row["original"] for row in rows} == {rows[0]["item"]}
    assert {row["sha256"] for row in rows} == {digest("same").hex()}
    assert {"anna/=a", "anna; boris"} <= set(csv_cells(rows[0], DUPLICATES.fields))
    for flag, names in (
        (True, ["boris/b"]),
        (False, ["anna/=a", "boris/c"]),
        (None, ["anna/=a", "boris/b", "boris/c"]),
    ):
        shown = [item["container_path"][0] for item in stream_items(job.each[0], ItemFilter(duplicate=flag))]
        assert shown == names
