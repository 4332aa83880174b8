"""No document goes round for ever: what its loose file may cost in all tasks together (design §3.8)."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from dying_slot import KILLER, DyingSlot, SlotDied, deadly
from taskbench import TaskBench
from unpacking import make_tar, make_zip

from core.records import JobOptions, Limits
from worker.items.unpack import FilerStore

MANY = 200
MOST = 6 + 4  # slots that die in a small loose file


@pytest.fixture
def dying(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> Iterator[DyingSlot]:
    deadly(monkeypatch)
    slot = DyingSlot(task_bench)
    yield slot
    slot.bench.context.shards.close()


def _write(bench: TaskBench, name: str, data: bytes) -> None:
    (bench.source / name).write_bytes(data)


def _adds_up(bench: TaskBench) -> None:
    """expected = emitted + failed for every container, and emitted is what has rows."""
    for row in bench.rows(
        "SELECT c.announced, c.emitted, c.failed, c.remainder_unknown, "
        "(SELECT count(*) FROM item i WHERE i.parent = c.item) AS rows FROM container_count c"
    ):
        assert row.emitted == row.rows
        assert row.announced in (None, row.emitted + row.failed)


def _killers(method: bytes, count: int = MANY) -> dict[str, bytes]:
    return {f"{n:03}.rtf": KILLER % method for n in range(count)}


def _healthy(bench: TaskBench, *paths: str) -> None:
    """These have rows, their text is indexed, nothing is said against them."""
    states = bench.rows(
        "SELECT array_to_string(container_path, '/') AS path, t.state FROM item JOIN item_text t ON t.item = item.id"
    )
    assert {path: dict(map(tuple, states))[path] for path in paths} == dict.fromkeys(paths, "ok")
    assert not set(paths) & set(bench.codes())


@pytest.mark.parametrize("method", [b"children", b"text"])
def test_a_container_in_which_every_item_kills(dying: DyingSlot, method: bytes) -> None:
    """The job ends after a handful of deaths; the file beside it in the same task, and what lies in front of the
    killers, is whole; what is missing is counted."""
    bench = dying.bench
    _write(bench, "a.txt", b"before")
    _write(bench, "b.zip", make_zip({"0.txt": b"in front", **_killers(method)}))
    _write(bench, "c.txt", b"behind")
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert len(dying.deaths) <= MOST
    _healthy(bench, "a.txt", "b.zip/0.txt", "c.txt")
    _adds_up(bench)
    codes = bench.codes()
    assert codes["b.zip/000.rtf"] == ["killed_parser"]
    if method == b"children":
        assert codes["b.zip"] == ["deaths_limit"]
        missing = bench.value("SELECT missing FROM exception WHERE code = 'deaths_limit'")
        assert missing == MANY + 1 - bench.value("SELECT emitted FROM container_count")
    else:  # they have rows; nobody reads them any more
        assert codes[f"b.zip/{MANY - 1}.rtf"] == ["deaths_limit"]
        assert bench.value("SELECT count(*) FROM item_text") == bench.value("SELECT count(*) FROM item")


def test_a_container_that_kills_is_stopped_and_those_beside_it_continue(dying: DyingSlot) -> None:
    bench = dying.bench
    bench.options = JobOptions(limits=Limits(deaths=4, deaths_per_mb=20.0))
    inner = make_zip({"0.txt": b"in front", **_killers(b"children", 50)})
    pad = random.Random(1).randbytes(1_000_000)
    _write(bench, "b.zip", make_zip({"inner.zip": inner, "z.txt": b"behind", "pad.bin": pad}, stored=True))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert len(dying.deaths) == 4
    assert bench.codes()["b.zip/inner.zip"] == ["deaths_limit"]
    assert "b.zip" not in bench.codes()
    _healthy(bench, "b.zip/inner.zip/0.txt", "b.zip/z.txt")
    _adds_up(bench)


def test_ranges_of_one_container_share_its_deaths(dying: DyingSlot) -> None:
    bench = dying.bench
    bench.options = JobOptions(split_bytes=20_000, batch_bytes=20_000, limits=Limits(deaths_per_mb=0))
    texts = {f"{n:03}.txt": random.Random(n).randbytes(500).hex().encode() for n in range(100)}
    members = sorted({**texts, **_killers(b"children", 100)}.items())
    _write(bench, "b.zip", make_zip(members, stored=True))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert bench.value("SELECT count(*) FROM task WHERE phase = 'expand'") > 5
    assert len(dying.deaths) <= MOST
    _adds_up(bench)


def test_deaths_in_a_task_that_writes_portions(dying: DyingSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.items.portions.ROWS", 10)
    bench = dying.bench
    texts = {f"{n:03}.txt": b"innocent %d" % n for n in range(100)}
    _write(bench, "b.zip", make_zip(sorted({**texts, **_killers(b"children", 100)}.items())))
    _write(bench, "c.zip", make_zip(texts))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert len(dying.deaths) <= MOST
    _healthy(bench, "b.zip/000.txt", "b.zip/001.txt", *(f"c.zip/{name}" for name in texts))
    _adds_up(bench)


def test_members_that_are_handed_on_share_what_is_left(dying: DyingSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The members of an archive without ranges, in several portions: those that are no bombs are whole, and all of them
    together give no more than the loose file may."""
    monkeypatch.setattr("worker.items.portions.ROWS", 10)
    bench = dying.bench
    bench.options = JobOptions(split_bytes=10_000, limits=Limits(expansion_floor=400_000, expansion_ratio=1.0))
    small = {f"{n:03}.zip": make_zip({"in.txt": random.Random(n).randbytes(200).hex().encode()}) for n in range(40)}
    bomb = make_zip({"zeros": bytes(300_000)})
    members = sorted({**small, "a bomb.zip": bomb, "z bomb.zip": bomb}.items())
    _write(bench, "b.tgz", make_tar(dict(members)))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert dying.deaths == []
    assert bench.value("SELECT count(*) FROM item WHERE display = 'in.txt'") == len(small)
    assert bench.value("SELECT sum(bytes) FROM item WHERE parent IS NOT NULL") <= 400_000
    assert set(bench.codes()) == {"b.tgz/a bomb.zip", "b.tgz/z bomb.zip"}
    _adds_up(bench)


def test_items_that_kill_while_they_are_copied(dying: DyingSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, put = dying.bench, FilerStore.put

    def killing(store: FilerStore, item: Any, chunks: Any) -> bytes | None:
        data = b"".join(chunks)
        if b"rtf1" in data:
            raise SlotDied
        return put(store, item, [data])

    monkeypatch.setattr(FilerStore, "put", killing)
    _write(bench, "b.zip", make_zip({"0.txt": b"in front", **_killers(b"copy")}))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert len(dying.deaths) <= MOST
    _adds_up(bench)


@pytest.mark.parametrize("method", [b"children", b"text"])
def test_hangs_share_the_seconds_of_their_loose_file(dying: DyingSlot, method: bytes) -> None:
    bench = dying.bench
    dying.overdue, dying.seconds = True, 60.0
    bench.options = JobOptions(limits=Limits(deaths=100, loose_seconds_per_mb=0))
    _write(bench, "b.zip", make_zip({"0.txt": b"in front", **_killers(method, 10)}))
    _write(bench, "c.txt", b"behind")
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert len(dying.deaths) == 5
    codes = {code for found in bench.codes().values() for code in found}
    assert codes == {"timeout", "time_limit"}
    _healthy(bench, "b.zip/0.txt", "c.txt")
    _adds_up(bench)


def test_a_loose_file_that_fills_the_memory(dying: DyingSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its items are cut off half-way to where the memory was full; no item is convicted, the job is not suspended, and
    the loose file beside it is whole."""
    bench, put, fresh = dying.bench, FilerStore.put, 50
    stores: dict[int, int] = {}

    def full(store: FilerStore, item: Any, chunks: Any) -> bytes | None:
        stores[id(store)] = stores.get(id(store), 0) + 1
        if stores[id(store)] > fresh:
            raise MemoryError
        return put(store, item, chunks)

    monkeypatch.setattr(FilerStore, "put", full)
    _write(bench, "a.txt", b"before")
    _write(bench, "b.zip", make_zip({f"{n}.txt": b"x" for n in range(100)}))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    assert [str(cause) for cause in dying.deaths] == ["memory"]
    assert bench.codes() == {"b.zip": ["memory"]}
    assert bench.value("SELECT emitted FROM container_count") == fresh // 2
    assert bench.value("SELECT max(failures) FROM task") == 0
    _healthy(bench, "a.txt", "b.zip/0.txt")
    _adds_up(bench)


def test_a_requeued_loose_file_starts_afresh(dying: DyingSlot, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = dying.bench
    _write(bench, "b.zip", make_zip(_killers(b"children", 20)))
    bench.create()
    assert dying.run() == "completed_with_exceptions"
    monkeypatch.undo()
    assert bench.requeue() == 1
    bench.resume()
    assert dying.run() == "completed"
    assert bench.codes() == {}
