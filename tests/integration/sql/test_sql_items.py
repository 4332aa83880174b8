"""Items read back as they were written."""

from __future__ import annotations

import uuid
from typing import Any

from core.records import ExceptionLevel, Shard
from readers.errors import ExceptionCode
from readers.records import Kind
from sql.faces.runs import RUNS
from sql.findings import IndexOwner, Item, ItemException, TaskResult
from sql.items import custodian_names, item_codes, load_items, locations, shard_ids


def _finished(hands: Any, **found: Any) -> uuid.UUID:
    job = hands.create(1)
    made = {k: v(job) for k, v in found.items()}
    hands.finish(hands.take(job), TaskResult(**made))
    return uuid.UUID(str(job))


def test_an_item_comes_back_as_it_went_in(hands: Any) -> None:
    loose, child = [], []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        loose.append(hands.item(job, b"a/\xff\0b.zip", container=True, mtime_ns=-5, name=b"\xff\0b.zip"))
        child.append(
            hands.item(
                job,
                b"#3",
                loose[0].id,
                family=uuid.uuid4(),
                kind=Kind.MESSAGE,
                content_hash=b"c" * 32,
                message_id_hash=b"m" * 16,
                location=b"jobs/x/\xfe",
                size=2**40,
                container_path=("a", "b\\x00", "ü"),
            )
        )
        return (loose[0], child[0], hands.item(job, b"unread", sha256=None))

    job = _finished(hands, items=items)
    ids = [child[0].id, uuid.uuid4(), loose[0].id]
    with hands.database.transaction() as conn:
        assert load_items(conn, ids) == [child[0], loose[0]]
        assert load_items(conn, []) == []
        assert locations(conn, ids) == {loose[0].id: None, child[0].id: b"jobs/x/\xfe"}
        assert custodian_names(conn, job) == {0: "_root", 1: "m\\xfcller"}


def test_item_codes_are_the_item_level_ones(hands: Any) -> None:
    """What a later phase must not say twice: this item's own exceptions, not those of its missing children, nor those of a
    job that took it since."""
    made: list[Item] = []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        made.append(hands.item(job, b"a"))
        return tuple(made)

    def failed(code: ExceptionCode, level: ExceptionLevel) -> ItemException:
        return ItemException(item=made[0].id, code=code, level=level, detail="d", missing=None)

    assert _finished(
        hands,
        items=items,
        exceptions=lambda _: (
            failed(ExceptionCode.CORRUPT, ExceptionLevel.ITEM),
            failed(ExceptionCode.TRUNCATED, ExceptionLevel.NODE),
        ),
    )
    assert _finished(hands, exceptions=lambda _: (failed(ExceptionCode.TIMEOUT, ExceptionLevel.ITEM),))
    with hands.database.transaction() as conn:
        assert item_codes(conn, [made[0].id, uuid.uuid4()]) == {(made[0].id, ExceptionCode.CORRUPT)}


def test_shards_are_those_of_finished_tasks_of_the_job(hands: Any) -> None:
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"x", documents=1)
    item = []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        item.append(hands.item(job, b"a"))
        return (item[0],)

    def owners(job: uuid.UUID) -> tuple[IndexOwner, ...]:
        return (IndexOwner(item=item[0].id, shard=shard.id),)

    job = _finished(hands, items=items, owners=owners, shard=lambda job: shard)
    with hands.database.transaction() as conn:
        assert shard_ids(conn, job) == {shard.id}
        assert shard_ids(conn, uuid.uuid4()) == set()


def test_a_loose_file_needs_room_for_what_was_taken_out_of_it(hands: Any) -> None:
    def items(job: uuid.UUID) -> tuple[Item, ...]:
        loose = hands.item(job, b"b.zip", size=5_000)
        child = hands.item(job, b"#1", loose.id, location=b"x", size=4_096)
        return (
            loose,
            child,
            hands.item(job, b"#2", loose.id, size=10**9),  # none of its bytes were written
            hands.item(job, b"#3", child.id, location=b"y", size=1),
            hands.item(job, b"a\xff", size=0),
        )

    job = _finished(hands, items=items)
    with hands.database.transaction() as conn:
        needs = [(bytes(need.path), need.itself, need.inside) for need in RUNS.loose_needs(conn, job=job)]
    assert needs == [(b"a\xff", 1_024, 0), (b"b.zip", 8_192 + 1_024, 2 * (4_096 + 1_024))]
