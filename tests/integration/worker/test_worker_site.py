"""What a slot does for a job on an emulated site is booked there: its transactions, and the processor time of its tasks only."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from taskbench import TaskBench

from controller.filer.emulated import watched_filer
from core.filer import load_filer
from core.filer.load import site_source
from core.records import JobOptions
from core.settings import DatabaseAddress, Settings
from traces.parts import WorkerParts
from worker.run_task import handle
from worker.slots import slot
from worker.slots.slot import SlotPlan, make_context
from worker.slots.table import SlotTable

_FILER = 'name = "one"\n'  # no call takes anything: whatever is waited for is the site's
_SITE = """
name = "two"
filer = "one.toml"
[worker]
cores = 1
[[host]]
cores = 1
[[database]]
servers = 1
transaction_us = 10_000.0
row_us = 10_000.0
"""
_INDEX = """
name = "index"
origin = "assumed: for this test"
data = ["INDEX"]
[call]
open = { LOOKUP = 1.0 }
[index_call]
open = { INDEX = 7.0 }
"""
_LOOK_S = 0.0005  # that every look at the processor clock is later than the one before
_IDLE_S = 5.0  # used before a task


class _Clock:
    """In place of a slot's processor clock: it goes on with every look, so that the machine's speed does not count."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += _LOOK_S
        return self.seconds


def _plan(bench: TaskBench, filer: str) -> SlotPlan:
    """A slot as a worker makes it, with the worker's own login."""
    scratch = bench.home / "scratch" / "slot"
    scratch.mkdir(parents=True)
    settings = Settings(
        databases=(DatabaseAddress(name=bench.database.name, url=bench.slots.url),),
        storage=bench.storage_root,
        scratch=bench.home / "scratch",
        filer=filer,
        box=False,
    )
    return SlotPlan(
        settings=settings,
        worker="w1",
        slot=0,
        incarnation=uuid.uuid4(),
        scratch=scratch,
        parts=WorkerParts(scratch / "traces", settings.storage),
        table=SlotTable(1, [bench.database.name]),
        handle=handle,
    )


def test_a_slot_tells_the_filer_which_phase_it_works_on(task_bench: TaskBench, tmp_path: Path) -> None:
    """A protocol may have other filer ops for the calls of phase index: none before it, and its own while it lasts."""
    (tmp_path / "one.toml").write_text(f'{_FILER}protocol = "index.toml"\n')
    (tmp_path / "index.toml").write_text(_INDEX)
    model = load_filer(str(tmp_path / "one.toml"))
    assert model is not None
    for name in ("a", "b", "c"):
        (task_bench.source / f"{name}.txt").write_text(name)
    task_bench.options = JobOptions(filer=model.choice)
    task_bench.create()
    plan = _plan(task_bench, model.source)
    asked = []
    with watched_filer(plan.settings) as watch:
        context = make_context(plan)
        for _ in ("walk", "expand", "index"):
            for task in task_bench.dispatch():
                task_bench.handle(task, context)
            task_bench.advance()
            stations = watch.figures()["filer"]["stations"]
            asked.append(stations["data"]["filer_ops"] if "data" in stations else 0)  # nothing was asked of it
    for database in context.databases.values():
        database.dispose()
    assert task_bench.value("SELECT count(*) FROM item") == 3, task_bench.reason()
    assert asked[:2] == [0, 0]
    assert asked[2] >= 3 * 7, "each item is opened again, for seven filer ops"


def test_what_a_slot_does_is_booked_on_the_site(
    task_bench: TaskBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every transaction of its tasks with every row, and their processor time; what it used before a task is nobody's."""
    (tmp_path / "one.toml").write_text(_FILER)
    (tmp_path / "site.toml").write_text(_SITE)
    model = load_filer(site_source(str(tmp_path / "site.toml")))
    assert model is not None
    clock = _Clock()
    monkeypatch.setattr(slot, "processor_seconds", clock)
    for name in ("a", "b", "c"):
        (task_bench.source / f"{name}.txt").write_text(name)
    task_bench.options = JobOptions(filer=model.choice)
    task_bench.create()
    plan = _plan(task_bench, model.source)
    with watched_filer(plan.settings) as watch:
        context = make_context(plan)
        tasks = 0
        for _ in ("walk", "expand"):
            for task in task_bench.dispatch():
                clock.seconds += _IDLE_S
                task_bench.handle(task, context)
                tasks += 1
            task_bench.advance()
        found = watch.figures()["filer"]
    for database in context.databases.values():
        database.dispose()
    assert task_bench.value("SELECT count(*) FROM item") == 3, task_bench.reason()
    database, host = found["stations"]["database 1"], found["stations"]["host 1"]
    database_s, host_s = (station["utilisation"] * found["seconds"] for station in (database, host))
    assert database["calls"] >= 3 * tasks, "claimed, told what is to be done, finished"
    assert database_s >= 0.010 * (database["calls"] + 3) * 0.95, "10 ms each, and as much for the row of each item"
    assert 0 < host_s < tasks * _IDLE_S * found["machine_speed"]["lowest"] / 4, (
        "of the tasks, not of what was before them"
    )
    assert found["site_waits"]["booked_s"] >= database_s * 0.95
