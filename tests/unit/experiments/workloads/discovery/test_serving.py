"""Processor time of those who serve the workers."""

import dataclasses
import os
import time

import pytest
from result_packages import START, job

from experiments.report.views import spread
from experiments.workloads.discovery.figures import phases_used, processors_between
from experiments.workloads.discovery.observed import Samples
from experiments.workloads.discovery.result import SERVERS, WORKERS
from experiments.workloads.discovery.site import COMMAND, QUEUE_MANAGER, ServingMeter


def test_this_command_is_counted() -> None:
    """By the kernel's own accounts; without services there are no databases to count."""
    meter = ServingMeter(os.getpid(), None)
    before = meter.read()
    begin = time.process_time()
    while time.process_time() - begin < 0.1:
        sum(range(1000))
    after = meter.read()
    assert after[COMMAND] - before[COMMAND] > 0.05
    assert after[QUEUE_MANAGER] == 0.0
    assert SERVERS not in after


def test_between_samples_time_is_shared_out() -> None:
    samples = Samples(
        workers=[(100.0, 0.0, 0.0), (110.0, 5.0, 0.0), (120.0, 5.0, 0.0)],
        serving=[(100.0, {SERVERS: 1.0}), (120.0, {SERVERS: 3.0, "broker": 2.0})],
    )
    between = processors_between(samples, offset=50.0)  # the database's clock is 50 s ahead
    assert between(150.0, 155.0) == pytest.approx({WORKERS: 2.5, SERVERS: 0.5, "broker": 0.5})
    assert between(100.0, 900.0) == pytest.approx({WORKERS: 5.0, SERVERS: 2.0, "broker": 2.0})
    assert processors_between(Samples(), offset=0.0)(0.0, 1.0) == {}


def test_of_many_tasks_the_ends_stay() -> None:
    values = [float(n) for n in range(1000)]
    kept = spread(values, 10)
    assert len(kept) == 10
    assert (kept[0], kept[-1]) == (0.0, 999.0)
    assert list(kept) == sorted(kept)
    assert spread(values[:10], 10) == values[:10]


def test_of_each_task_that_is_kept_it_is_known_when_its_turn_was() -> None:
    reported = job(40.0)
    spans = [("w1", 0, "walk", START + at, START + at + lasted) for at, lasted in ((2.0, 1.0), (0.0, 4.0), (1.0, 3.0))]
    table = dataclasses.replace(reported.tables["task_spans"], rows=tuple(spans))
    changed = dataclasses.replace(reported, tables=reported.tables | {"task_spans": table})
    use = phases_used(changed, START, lambda *_: {})[0]
    assert (use.tasks, use.busy_s) == (3, 8.0)
    assert use.task_s == (1.0, 3.0, 4.0)
    assert use.task_claims == (2, 1, 0)
