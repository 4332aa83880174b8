"""Threads in a real database."""

import json

import pytest
from shelf import Shelf

from controller.findings import thread_of
from readers.records import NO_FIELDS
from review.threads.run import THREADS, thread
from sql.session import Database


@pytest.fixture
def shelf(database: Database) -> Shelf:
    return Shelf(database)


def _texts(shelf: Shelf, metadata: dict[str, dict[str, object]]) -> None:
    """Metadata of items, by their names."""
    statement = (
        "INSERT INTO item_text SELECT id, job, 'ok', 1, 1, %(metadata)s::jsonb FROM item"
        " WHERE job = %(job)s AND display = %(name)s"
    )
    with shelf.database.transaction() as conn:
        for name, each in metadata.items():
            conn.execute(statement, {"job": shelf.job, "name": name, "metadata": json.dumps(each)})


def test_messages_are_stored_in_their_threads(shelf: Shelf) -> None:
    """A parent is the custodian's own copy where there is one; what has no Message-ID is told apart by what it says; dates
    are UTC beside what the header had. Another run gives the same rows."""
    for custodian in ("anna", "boris"):
        store = shelf.loose(custodian, f"{custodian}.mbox", custodian, container=True)
        shelf.message(store, 0, "question", "q")
        if custodian == "boris":
            shelf.message(store, 10, "answer", "a")
            shelf.message(store, 20, "nameless", "n")
            shelf.message(store, 30, "nameless too", "n")
            shelf.message(store, 40, "void", "v")
    job = shelf.stored()
    asked = {"message_id": "q@x", "date": "2024-01-02T08:00:00Z", "date_original": "Tue, 2 Jan 2024 10:00 +0200"}
    answered = {"message_id": "a@x", "reference_ids": ["lost@x", "q@x"], "date": "2024-02-30T08:00:00Z"}
    _texts(shelf, {"question": asked, "answer": answered, "nameless": {"in_reply_to": "a@x"}, "nameless too": {}})
    found = thread([job], subjects=False)
    assert (found.messages, found.threads, found.largest, found.deepest) == (6, 2, 5, 2)
    assert (found.by, found.without_id, found.without_date) == (
        {"references": 3, "in_reply_to": 2, "nothing": 1},
        3,
        4,
    )
    rows = list(THREADS.stream(job.each, found))
    by_name = {(row["custodian"], row["container_path"][-1]): row for row in rows}
    answer = by_name["boris", "answer"]
    assert answer["parent"] == by_name["boris", "question"]["item"]
    assert (answer["depth"], answer["sent_at"]) == (1, None)
    assert by_name["boris", "nameless too"]["parent"] == answer["item"]
    question = by_name["anna", "question"]
    assert (question["sent_at"], question["date_original"]) == (asked["date"], asked["date_original"])
    assert thread([job], subjects=False) == found
    assert list(THREADS.stream(job.each, found)) == rows
    assert THREADS.last(job.each, [shelf.database]) == found


def test_messages_without_any_field_are_no_thread(shelf: Shelf) -> None:
    store = shelf.loose("anna", "a.mbox", "m", container=True)
    for number, holds in enumerate(("noise", "other noise", "noise")):
        shelf.message(store, number, f"void {number}", "", holds, content_hash=NO_FIELDS)
    found = thread([shelf.stored()], subjects=False)
    assert (found.messages, found.threads, found.largest) == (3, 2, 2)


def test_one_items_thread_is_drawn_as_the_tree_that_it_is(shelf: Shelf) -> None:
    """An answer to the first of two answers is told behind it, with its parent, although it was sent last."""
    store = shelf.loose("anna", "a.mbox", "m", container=True)
    above = {"question": "", "first": "question", "second": "question", "last": "first"}
    for number, name in enumerate(above):
        shelf.message(store, number, name, name)
    job = shelf.stored()
    sent = {
        name: {"message_id": name, "in_reply_to": parent, "subject": name, "date": f"2024-01-0{day}T08:00:00Z"}
        for day, (name, parent) in enumerate(above.items(), 1)
    }
    _texts(shelf, sent)
    thread([job], subjects=False)
    messages = thread_of(job.each[0], shelf.items[-1].id, [shelf.database])
    assert [message.subject for message in messages] == ["question", "first", "last", "second"]
    names = {message.item: message.subject for message in messages}
    assert {message.subject: names[message.parent] if message.parent else "" for message in messages} == above


def test_threads_reach_over_jobs_and_are_called_the_same(database: Database) -> None:
    shelves = [Shelf(database), Shelf(database)]
    for shelf, name in zip(shelves, ("question", "answer"), strict=True):
        shelf.message(shelf.loose("anna", "a.mbox", "m", container=True), 0, name, name)
    jobs = [shelf.stored() for shelf in shelves]
    _texts(shelves[0], {"question": {"message_id": "q"}})
    _texts(shelves[1], {"answer": {"message_id": "a", "in_reply_to": "q"}})
    alone = [thread([job], subjects=False) for job in jobs]
    apart = [next(THREADS.stream(job.each, found))["thread"] for job, found in zip(jobs, alone, strict=True)]
    assert ([found.threads for found in alone], apart[0] == apart[1]) == ([1, 1], True)
    found = thread(jobs, subjects=False)
    (question,), (answer,) = (list(THREADS.stream(job.each, found)) for job in jobs)
    assert (answer["parent"], answer["thread"]) == (question["item"], question["thread"])
