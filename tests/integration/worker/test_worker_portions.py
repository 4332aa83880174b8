"""Tasks that find more than a slot may hold: written in portions, with the same result, wherever a claim is cut off."""

import itertools
import shutil
import tracemalloc
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from taskbench import TaskBench
from unpacking import make_zip

from core.errors import DatabaseFault, TaskLost
from core.records import JobOptions, Phase
from core.storage import layer as storage_listing
from monitoring.tally import KINDS, summed
from readers.records import TextState
from sql import ledger as ledger_portions
from sql.findings import ItemText, TaskResult
from worker import run_task
from worker.items import portions
from worker.items.findings import Findings
from worker.phases import walk
from worker.phases.task import TaskWork

ROWS = 6


def _tree(source: Path) -> None:
    """Wide and deep, with links, empty files, archives inside archives and a damaged one."""
    inner = make_zip({f"in{n}.txt": b"text %d" % n for n in range(9)} | {"empty": b""}, stored=True)
    members = {f"m{n}.txt": b"member %d" % n for n in range(11)}
    (source / "box.zip").write_bytes(
        make_zip(members | {"inner.zip": inner, "broken.zip": inner[:-30], "last.txt": b"x"}, stored=True)
    )
    for n in range(12):
        folder = source / f"d{n:02}" / "deep"
        folder.mkdir(parents=True)
        (folder / "f.txt").write_bytes(b"file %d" % n)
    for n in range(5):
        (source / f"link{n}").symlink_to("nowhere")
        (source / f"zero{n}").touch()


def _outcome(bench: TaskBench) -> list[Any]:
    """All that a job has found, without names that are made up anew each time."""
    return [
        Counter(map(tuple, bench.rows(sql)))
        for sql in (
            "SELECT id::text, parent::text, size FROM (SELECT id, parent, bytes AS size FROM item) AS i",
            "SELECT item::text, code, level, missing FROM exception",
            "SELECT item::text, announced, emitted, failed, remainder_unknown FROM container_count",
            "SELECT item::text, state, characters FROM item_text",
            "SELECT item::text FROM item_index WHERE owner IN (SELECT replace(token::text, '-', '') FROM task)",
            "SELECT phase, jsonb_array_elements_text(payload -> 'items') FROM task WHERE phase = 'index'",
            "SELECT jsonb_array_elements(payload -> 'files') ->> 0 FROM task WHERE phase = 'expand'",
            "SELECT 'items', sum(items)::int FROM task WHERE phase = 'expand'",
            "SELECT state, 0 FROM task WHERE state <> 'done'",
        )
    ]


@pytest.fixture
def undisturbed(task_bench: TaskBench, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The bench, and the outcome of a job in which no task needs a portion."""
    single: bool = request.param
    monkeypatch.setattr(walk, "DIRECTORIES_A_TASK", 8)
    task_bench.options = JobOptions(single_pass=single, batch_files=40)
    _tree(task_bench.source)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    return _outcome(task_bench)


def _reported(bench: TaskBench) -> int:
    """Items that Prometheus was told of."""
    words = summed([bench.context.tally])
    return sum(words[at] for at in KINDS.values())


def _again(bench: TaskBench) -> None:
    """The same job over the same source from the start; ids of items follow from the job's."""
    _forget(bench)
    bench.create()


def _forget(bench: TaskBench) -> None:
    bench.rows("DELETE FROM job RETURNING 1")
    bench.context.shards.close()
    shutil.rmtree(bench.storage_root)


class _Cut:
    """Cuts claims off: their n-th portion finds the task taken away, six times in all."""

    def __init__(self, patch: pytest.MonkeyPatch, every: int) -> None:
        self.cuts = 0
        self.written = 0
        write = ledger_portions.write_portion

        def cutting(conn: Any, claimed: Any, number: int, found: TaskResult) -> None:
            if self.cuts < 6 and number - claimed.portions == every:
                self.cuts += 1
                raise TaskLost("cut off")
            write(conn, claimed, number, found)
            self.written += 1

        patch.setattr(ledger_portions, "write_portion", cutting)


@pytest.mark.parametrize("undisturbed", [False, True], indirect=True)
def test_portions_change_nothing_of_the_result(
    task_bench: TaskBench, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: items, exceptions, counts, texts, owners and tasks are those of a job without portions."""
    monkeypatch.setattr(portions, "ROWS", ROWS)
    cut = _Cut(monkeypatch, every=-1)
    reported = _reported(task_bench)
    _again(task_bench)
    assert task_bench.run() == "completed_with_exceptions"
    assert cut.written > 5
    assert _reported(task_bench) == reported + task_bench.value("SELECT count(*) FROM item")
    assert _outcome(task_bench) == undisturbed


@pytest.mark.parametrize("undisturbed", [False, True], indirect=True)
def test_claims_that_are_cut_off_leave_nothing_and_lose_nothing(
    task_bench: TaskBench, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: whatever claims wrote before they lost their task, the job's outcome is the same."""
    monkeypatch.setattr(portions, "ROWS", ROWS)
    monkeypatch.setattr(ledger_portions, "TASKS_AT_ONCE", 2)
    monkeypatch.setattr(ledger_portions, "ITEMS_AT_ONCE", 7)
    cut = _Cut(monkeypatch, every=2)
    _again(task_bench)
    for phase in (Phase.EXPAND, Phase.INDEX, Phase.FINALISE):
        for _ in itertools.count():
            task_bench.drain()
            if not task_bench.rows(
                "UPDATE task SET state = 'pending', lease = NULL WHERE state = 'running' RETURNING 1"
            ):
                break
        assert task_bench.advance() in (phase, Phase.FINALISE)
    task_bench.drain()
    assert str(task_bench.advance()) == "completed_with_exceptions"
    assert cut.cuts == 6
    assert _outcome(task_bench) == undisturbed


@pytest.mark.parametrize("undisturbed", [False], indirect=True)
def test_a_portion_whose_answer_was_lost_is_not_written_twice(
    task_bench: TaskBench, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: a connection that breaks right after the commit costs a second look and no more."""
    monkeypatch.setattr(portions, "ROWS", ROWS)
    monkeypatch.setattr(portions, "_RETRY_SECONDS", 0.0)
    transaction = task_bench.slots.transaction
    broken: list[int] = []
    write = ledger_portions.write_portion
    writing: list[bool] = []

    def noting(conn: Any, claimed: Any, number: int, found: TaskResult) -> None:
        write(conn, claimed, number, found)
        writing.append(True)

    class Breaking:
        """A transaction that is committed, and whose caller does not learn of it."""

        def __init__(self, **options: bool) -> None:
            self.inner = transaction(**options)

        def __enter__(self) -> Any:
            return self.inner.__enter__()

        def __exit__(self, *error: Any) -> Any:
            out = self.inner.__exit__(*error)
            if writing:
                writing.clear()
                broken.append(1)
                raise DatabaseFault("the connection is gone", transient=True)
            return out

    monkeypatch.setattr(ledger_portions, "write_portion", noting)
    monkeypatch.setattr(task_bench.slots, "transaction", Breaking)
    _again(task_bench)
    assert task_bench.run() == "completed_with_exceptions"
    assert len(broken) > 5
    assert _outcome(task_bench) == undisturbed


def test_long_metadata_counts_as_many_rows() -> None:
    """Promise: a few messages to thousands of people fill a portion as many short ones do."""
    out = Findings()
    for n in range(3):
        people = ["somebody@example.com"] * 1_000
        about = {"to": people, "subject": "x"}
        out.add_text(ItemText(item=uuid.UUID(int=n), state=TextState.OK, characters=1, pages=1, metadata=about))
    assert out.rows > 30
    out.portion()
    assert out.rows == 0


@pytest.mark.parametrize("link", [False, True])
def test_long_paths_count_as_many_rows(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, link: bool) -> None:
    """Promise: a portion of a walk is bounded in bytes, not only in files or links: a path may have four thousand."""
    monkeypatch.setattr(portions, "ROWS", 40)
    monkeypatch.setattr(walk, "LOOK_EVERY", 1)
    task_bench.options = JobOptions(batch_files=1)
    written = {}
    for depth in (1, 11):
        folder = task_bench.source.joinpath(*["d" * 250] * depth)
        folder.mkdir(parents=True)
        for n in range(10 if link else 30):
            (folder / f"f{n}").symlink_to("nowhere") if link else (folder / f"f{n}").touch()
        task_bench.create()
        task_bench.drain()
        written[depth] = task_bench.value("SELECT sum(portions)::int FROM task WHERE phase = 'walk'")
        _forget(task_bench)
        shutil.rmtree(task_bench.source)
        task_bench.source.mkdir()
    assert written[1] == 0
    assert written[11] > 0


def _walk_peak(bench: TaskBench, monkeypatch: pytest.MonkeyPatch, files: int) -> int:
    """Bytes that one walk task takes at most, over so many empty files in one directory."""
    for n in range(len(list(bench.source.iterdir())), files):
        (bench.source / f"{n:06}").touch()
    peaks: list[int] = []

    def measured(work: TaskWork) -> TaskResult:
        tracemalloc.start()
        try:
            return walk.run(work)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    with monkeypatch.context() as patch:
        patch.setitem(run_task.BODIES, Phase.WALK, measured)
        bench.context.storage.record_to(type("Nowhere", (), {"record": lambda *_: None})())
        bench.context.scratch.mkdir(parents=True, exist_ok=True)
        bench.create()
        bench.drain()
    counted = "SELECT sum(jsonb_array_length(payload -> 'files'))::int FROM task WHERE phase = 'expand'"
    assert bench.value(counted) == files
    _forget(bench)
    (peak,) = peaks
    return peak


def test_the_memory_of_a_walk_does_not_grow_with_the_directory(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: four times the files, the same memory."""
    monkeypatch.setattr(portions, "ROWS", 400)
    monkeypatch.setattr(storage_listing, "AT_ONCE", 400)
    task_bench.options = JobOptions(batch_files=100)
    _walk_peak(task_bench, monkeypatch, 400)  # what is made once and stays
    small = _walk_peak(task_bench, monkeypatch, 1_500)
    assert _walk_peak(task_bench, monkeypatch, 6_000) < 1.3 * small


def test_what_the_last_portion_took_is_published(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single-pass: the finish has no owner left to write down, and the documents of all that portions wrote must be in the
    shard all the same. They rode along with the slot's next publication, and were lost where there was none."""
    monkeypatch.setattr(portions, "ROWS", 1)
    task_bench.options = JobOptions(single_pass=True)
    for number in range(3):
        (task_bench.source / f"note{number}.txt").write_text(f"words of note {number}")
    task_bench.create()
    assert task_bench.run() == "completed"
    owned, published = "SELECT count(*) FROM item_index", "SELECT coalesce(sum(documents), 0)::int FROM shard"
    assert task_bench.rows(f"SELECT ({owned}), ({published})") == [(3, 3)]
