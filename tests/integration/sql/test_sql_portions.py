"""Findings in portions: fenced, counted, held, and taken out when their claim does not finish."""

import dataclasses
import uuid
from typing import Any

import pytest
from lost_commits import LostCommits

from core.errors import TaskLost
from core.records import ClaimedTask, ExceptionLevel, NewTask, Phase
from readers.errors import ExceptionCode
from readers.records import TextState
from sql import ledger, states
from sql.findings import ContainerCount, IndexOwner, ItemException, ItemText, TaskResult
from sql.models import metadata


def _found(hands: Any, claimed: ClaimedTask, number: int, *, indexed: bool = False) -> TaskResult:
    """An item with an exception and a count, its index task or its text, and a directory for a later walk task."""
    item = hands.item(claimed.job, b"%d" % number, container=True)
    failed = ItemException(item=item.id, code=ExceptionCode.CORRUPT, level=ExceptionLevel.NODE, detail="", missing=1)
    index = NewTask(phase=Phase.INDEX, weight=1, payload={"items": [item.id.hex]})
    walk = NewTask(phase=Phase.WALK, weight=1, payload={"directories": [f"{number}"]})
    return TaskResult(
        items=(item,),
        exceptions=(failed,),
        containers=(ContainerCount(item=item.id, announced=1, emitted=0, failed=1),),
        texts=(ItemText(item=item.id, state=TextState.OK, characters=1, pages=1),) if indexed else (),
        owners=(IndexOwner(item=item.id, shard=uuid.uuid4()),) if indexed else (),
        follow_on=(walk,) if indexed else (index, walk),
    )


def _write(hands: Any, claimed: ClaimedTask, number: int, **kind: bool) -> None:
    with hands.database.transaction() as conn:
        ledger.write_portion(conn, claimed, number, _found(hands, claimed, number, **kind))


def _finish(hands: Any, claimed: ClaimedTask, written: int) -> None:
    hands.finish(claimed, TaskResult(portions=written, written=written - claimed.portions))


def _counts(hands: Any, job: uuid.UUID) -> dict[str, int]:
    tables = ("item", "exception", "container_count", "item_text", "item_index")
    out = {t: hands.value(f"SELECT count(*) FROM {t} WHERE job = %(job)s", job=job) for t in tables}
    sql = "SELECT phase || ' ' || state AS what, count(*) AS n FROM task WHERE job = %(job)s GROUP BY 1"
    return {name: n for name, n in out.items() if n} | {row.what: row.n for row in hands.rows(sql, job=job)}


def test_tasks_of_the_same_phase_wait_for_the_finish(hands: Any) -> None:
    """Promise: nothing of a portion is dispatched before its task is done, and all of it then; the items count."""
    job = hands.create(1)
    claimed = hands.take(job)
    for number in (1, 2):
        _write(hands, claimed, number)
    assert hands.dispatch(job) == []
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is None
    _finish(hands, claimed, 2)
    assert len(hands.dispatch(job)) == 2
    assert hands.value("SELECT items FROM task WHERE id = %(id)s", id=claimed.id) == 2


def test_a_portion_is_written_once_and_in_order(hands: Any) -> None:
    """Promise: neither a portion sent twice nor one out of turn changes anything, and who asks is told."""
    claimed = hands.take(hands.create(1))
    _write(hands, claimed, 1)
    for number in (1, 3):
        with pytest.raises(TaskLost):
            _write(hands, claimed, number)
    with hands.database.transaction() as conn:
        assert ledger.portion_is_written(conn, claimed, 1)
        assert not ledger.portion_is_written(conn, claimed, 2)
        assert not ledger.portion_is_written(conn, dataclasses.replace(claimed, token=uuid.uuid4()), 1)
    with pytest.raises(TaskLost):
        _finish(hands, claimed, 2)
    _finish(hands, claimed, 1)
    assert _counts(hands, claimed.job) == {
        "item": 1,
        "exception": 1,
        "container_count": 1,
        "walk done": 1,
        "walk pending": 1,
        "index pending": 1,
    }


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("again", [0, 1, 3])
def test_what_a_claim_wrote_and_did_not_finish_is_taken_out(
    hands: Any, monkeypatch: pytest.MonkeyPatch, indexed: bool, again: int
) -> None:
    """Promise: after two claims that were lost half-way, the third leaves exactly what it found itself, and what other
    tasks wrote stays; the taking out is done in bounded steps."""
    monkeypatch.setattr(ledger, "TASKS_AT_ONCE", 2)
    monkeypatch.setattr(ledger, "ITEMS_AT_ONCE", 2)
    job = hands.create(2)
    other = hands.take(job)
    with hands.database.transaction() as conn:
        ledger.write_portion(conn, other, 1, _found(hands, other, 100, indexed=indexed))
    claimed = hands.take(job)
    for count in (5, 4):
        assert claimed.portions in (0, 5)
        for number in range(count):
            _write(hands, claimed, claimed.portions + number + 1, indexed=indexed)
        with hands.database.transaction() as conn:
            assert ledger.release(conn, claimed.id, claimed.token, failed=False)
        with pytest.raises(TaskLost):
            _write(hands, claimed, claimed.portions + count + 1)
        claimed = hands.take(job)
    written, more = claimed.portions, True
    while more:
        with hands.database.transaction() as conn:
            more = ledger.take_out(conn, claimed, written + 1)
        written += 1
    assert written > claimed.portions + 1
    for _ in range(again):
        written += 1
        _write(hands, claimed, written, indexed=indexed)
    _finish(hands, claimed, written)
    mine = again + 1
    rows = ("item", "exception", "container_count", *(("item_text", "item_index") if indexed else ()))
    expected = dict.fromkeys(rows, mine) | {"walk running": 1, "walk done": 1, "walk held": 1}
    expected |= {} if indexed else {"index pending": mine}
    assert _counts(hands, job) == expected | ({"walk pending": again} if again else {})


@pytest.mark.parametrize("kept", range(5))
def test_a_portion_that_a_crash_takes_back_takes_its_claim_along(hands: Any, kept: int) -> None:
    """Promise: whichever commits a crash of the server takes back, the claim goes on or finishes only if every portion
    of it is there; else it is told, and another claim does all of it."""
    job = hands.create(1)
    claimed = hands.take(job)
    commits: LostCommits[int] = LostCommits(hands.database, job)
    commits.note(0, durable=False)
    for number in range(1, 5):
        _write(hands, claimed, number)
        commits.note(number, durable=False)
    there = commits.crash(kept)
    whole = there == 4
    for attempt in (lambda: _write(hands, claimed, 5), lambda: _finish(hands, claimed, 5)):
        if whole:
            attempt()
        else:
            with pytest.raises(TaskLost):
                attempt()
    if not whole:
        with pytest.raises(TaskLost):
            _finish(hands, claimed, 4)
        with hands.database.transaction() as conn:
            ledger.release(conn, claimed.id, claimed.token, failed=False)
        second = hands.take(job)
        written, more = second.portions, there > 0
        while more:
            with hands.database.transaction() as conn:
                more = ledger.take_out(conn, second, written + 1)
            written += 1
        for _ in range(5):
            written += 1
            _write(hands, second, written)
        _finish(hands, second, written)
    counts = _counts(hands, job)
    assert counts == dict.fromkeys(("item", "exception", "container_count", "walk pending", "index pending"), 5) | {
        "walk done": 1
    }


def test_no_table_of_a_job_is_forgotten_when_portions_are_taken_out() -> None:
    """Whoever adds a table that a claim writes rows of an item into has to say how an unfinished claim's are taken out:
    here, by going along with the item."""
    along = {
        table.name
        for table in metadata.tables.values()
        if any(key.column.table.name == "item" and key.ondelete == "CASCADE" for key in table.foreign_keys)
    }
    assert along == {"item_text", "item_index", "container_count"}
