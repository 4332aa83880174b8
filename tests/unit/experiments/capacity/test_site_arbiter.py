"""The model of an emulated site, held against what the product's own arbiter makes of the same work, on a clock of the test's.

Slots are played one booking after another, so nothing waits and nothing depends on the machine: whatever differs is the model's.
"""

from __future__ import annotations

import heapq
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter
from core.filer.load import site_source
from core.filer.places import SHARED_MEMORY
from core.operations import Op
from core.options.production import JobType
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import Calibration, Measured, PhaseLoad
from experiments.capacity.course import OWN
from experiments.capacity.filer_load import METADATA, Calls
from experiments.capacity.network import STREAMS
from experiments.capacity.predict import runs
from experiments.capacity.site_load import SiteUse

_FILER = """
name = "one"
[metadata]
servers = 2
service_us.default = {metadata}
[data]
servers = 2
service_us.default = 300.0
"""
_SITE = """
name = "two"
filer = "one.toml"
time_scale = {times}
client.round_trip_us = 200.0
[processor]
factor = {factor}
[worker]
cores = 2
[[host]]
cores = {cores}
[[host]]
cores = 3
speed = 1.5
[[database]]
servers = 4
speed = 1.0
transaction_us = 2000.0
row_us = {row}
filer_ops = 2.0
filer_ops_a_row = 0.5
[[database]]
servers = 2
speed = 0.5
transaction_us = 2000.0
row_us = {row}
filer_ops = 2.0
filer_ops_a_row = 0.5
"""
_PLAIN = {"metadata": 400.0, "times": 1.0, "factor": 8.0, "cores": 4, "row": 100.0}
_TASKS, _ITEMS, _ROWS, _SLOTS, _SPENT_NS = 240, 12, 24, 4, 400_000  # of a job; a task's; processor time of an item


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _site(tmp_path: Path, **changes: float) -> FilerModel:
    numbers = _PLAIN | changes
    (tmp_path / "one.toml").write_text(_FILER.format(**numbers))
    (tmp_path / "site.toml").write_text(_SITE.format(**numbers))
    model = load_filer(site_source(str(tmp_path / "site.toml")))
    assert model is not None
    return model


def _calibration(filer: FilerModel, streams: int | None) -> Calibration:
    """What `calibrate` would find of the job that `_played` plays."""
    items = float(_TASKS * _ITEMS)
    calls = {Op.OPEN: Calls(calls=items, bytes=0.0), Op.READ: Calls(calls=items, bytes=items * 10_000)}
    use = SiteUse(slot_s=items * _SPENT_NS / 1e9, transactions=3.0 * _TASKS, rows=float(_TASKS * _ROWS))
    load = PhaseLoad(
        name="index", tasks=_TASKS, sizes=(1.0,) * _TASKS, entries=0, calls=calls, calls_a_task={}, call_s=0.0, serving_s=0.0, wait_s=0.0,
        local_s=0.0, beside_s=0.0, database_s=0.0, barrier_s=0.0, heaviest=(), site=use, course={},
    )  # fmt: skip
    return Calibration(
        source="the test", job_type=JobType.DISCOVERY, labels=(), phases=(load,), filer=filer, burst=1.0, slots=_SLOTS, processors=2, background=0.0,
        background_database=0.0, databases_known=True, raw_bytes=1, discovered_bytes=1, items=int(items),
        index_streams=streams, index_tasks=None, speed=None, measured=(Measured(workers=1, elapsed_s=(1.0,)),),
    )  # fmt: skip


def _played(path: Path, filer: FilerModel, workers: int, databases: int, streams: int | None) -> float:
    """Seconds until every job's tasks are done, each booking made at the arbiter in the order of time."""
    dice = random.Random(3)
    turns = list(range(databases))  # whose queue is next
    left, out, end = [_TASKS] * databases, [0] * databases, 0
    idle = [worker for worker in range(workers) for _ in range(_SLOTS)]
    events: list[tuple[int, int, int, int, int]] = []  # when, a number of its own, worker, job, step of its task
    numbers = iter(range(1_000_000))

    def hand_out(now: int) -> None:
        while idle:
            able = [job for job in range(databases) if left[job] and out[job] < (streams or _TASKS)]
            if not able:
                return
            job = min(able, key=turns.index)
            turns.append(turns.pop(turns.index(job)))
            left[job], out[job] = left[job] - 1, out[job] + 1
            heapq.heappush(events, (now, next(numbers), idle.pop(0), job, 0))

    with Arbiter(path, filer) as arbiter:
        hand_out(0)
        while events:
            now, _, worker, job, step = heapq.heappop(events)
            end = max(end, now)
            item, what = divmod(step - 2, 3)
            if step < 2:  # claimed, and told what is to be done
                then = arbiter.transact(job, 0, now)
            elif item < _ITEMS and what == 0:
                spent = int(dice.expovariate(1.0) * _SPENT_NS)
                then = arbiter.compute(worker, spent, now + spent)
            elif item < _ITEMS:
                then = arbiter.book(Op.OPEN if what == 1 else Op.READ, 0 if what == 1 else 10_000, now)
            elif what == 0:
                then = arbiter.transact(job, _ROWS, now)
            else:
                out[job] -= 1
                idle.append(worker)
                hand_out(now)
                continue
            heapq.heappush(events, (then, next(numbers), worker, job, step + 1))
    return end / 1e9


@pytest.mark.parametrize(
    ("changes", "workers", "databases", "streams"),
    [
        ({}, 1, 1, None),
        ({}, 4, 1, None),
        ({}, 4, 2, None),
        ({"factor": 40.0}, 4, 1, None),
        ({"factor": 40.0, "cores": 1}, 6, 1, None),
        ({"metadata": 4_000.0}, 3, 2, None),
        ({"row": 4_000.0}, 4, 1, None),
        ({"row": 4_000.0}, 4, 2, None),
        ({"times": 5.0}, 2, 1, None),
        ({}, 6, 2, 5),
    ],
)
def test_what_the_arbiter_makes_of_a_job_is_predicted_within_a_tenth(
    tmp_path: Path, path: Path, changes: dict[str, float], workers: int, databases: int, streams: int | None
) -> None:
    """Bound by slots, workers' shares, hosts, filer, either database or index streams, at any time scale."""
    filer = _site(tmp_path, **changes)
    question = Question(workers=workers, databases=databases, slots=_SLOTS)
    (predicted,) = runs(_calibration(filer, streams), question, 1)
    assert predicted.elapsed_s == pytest.approx(_played(path, filer, workers, databases, streams), rel=0.10)


@pytest.mark.parametrize(
    ("changes", "workers", "databases", "streams", "limit"),
    [
        ({"factor": 40.0}, 2, 1, None, {OWN}),
        ({"factor": 40.0, "cores": 1}, 8, 1, None, {"host 1"}),
        ({"metadata": 4_000.0}, 3, 1, None, {METADATA}),
        ({"row": 8_000.0}, 4, 1, None, {"database 1"}),
        ({"row": 8_000.0}, 4, 2, None, {"database 2"}),
        ({}, 6, 1, 5, {STREAMS}),
    ],
)
def test_the_station_that_is_the_limit_is_named(
    tmp_path: Path, changes: dict[str, float], workers: int, databases: int, streams: int | None, limit: set[str]
) -> None:
    filer = _site(tmp_path, **changes)
    question = Question(workers=workers, databases=databases, slots=_SLOTS)
    (predicted,) = runs(_calibration(filer, streams), question, 1)
    assert {phase.limit for phase in predicted.phases[:1]} == limit


def test_a_third_database_is_on_the_first_server_again(tmp_path: Path) -> None:
    """As the arbiter has it."""
    filer = _site(tmp_path, row=8_000.0)
    calibration = _calibration(filer, None)
    two, three = (
        runs(calibration, Question(workers=4, databases=databases, slots=_SLOTS), 1)[0] for databases in (2, 3)
    )
    assert {name for name in three.utilisation if name.startswith("database")} == {"database 1", "database 2"}
    assert three.utilisation["database 1"] > two.utilisation["database 1"]


def test_no_limit_of_index_streams_may_be_asked_for(tmp_path: Path) -> None:
    """0 is none, and none said is the calibration's."""
    calibration = _calibration(_site(tmp_path), 2)
    asked = [None, 0, 2]
    limited, free, same = (
        runs(calibration, Question(workers=4, databases=1, slots=_SLOTS, index_streams=streams), 1)[0].elapsed_s
        for streams in asked
    )
    assert limited == same > 1.5 * free
