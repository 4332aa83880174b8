"""What a write's latency hides is a figure beside it, and a bound on it says what it bounds."""

import dataclasses

import pytest
import report_results as made

from experiments.result.schema import Knee
from experiments.workloads.discovery.result import DURABLE, CallUse, PhaseUse, Result, Run
from experiments.workloads.discovery.wording import write_remarks


def written(**calls: tuple[int, float]) -> PhaseUse:
    """`calls`: by op, bytes and seconds."""
    uses = {op: CallUse(calls=1, bytes=nbytes, seconds=seconds) for op, (nbytes, seconds) in calls.items()}
    return PhaseUse(
        database="db1", phase="expand", start_s=0.0, elapsed_s=9.0, tasks=1, busy_s=9.0, task_s=(9.0,), calls=uses, cpu_s={}
    )  # fmt: skip


def run(*phases: PhaseUse) -> Run:
    return dataclasses.replace(made.run(1), phases=phases)


def test_writes_closes_and_the_flush_at_the_end_count() -> None:
    """For each GB written, whatever the phase; reads do not. Without writes, and of older results, nothing is known."""
    expand = written(write=(2 * 10**9, 1.0), close=(0, 2.0), read=(10**9, 100.0))
    assert run(expand, written(fsync=(0, 5.0))).durable_s_per_gb == pytest.approx((1.0 + 2.0 + 5.0) / 2)
    assert run(written(read=(10**9, 100.0))).durable_s_per_gb is None
    assert run().durable_s_per_gb is None


def bounded(op: str, fsync: str) -> Result:
    point = dataclasses.replace(made.point(1), figures=made.point(1).figures | {DURABLE: made.estimate([3.5])})
    found = Knee(bounds_us={op: 20_000.0}, peak=0, knee=0, broken=None)
    return made.result(point, kind="knee", knee=found, conditions={"configuration": {"fsync": fsync}})


def test_a_bound_on_writes_into_memory_reports_it() -> None:
    (shown,) = write_remarks(bounded("write", "none"))
    assert "copies into memory" in shown
    assert "3.50 s for each GB at 1 worker x 4 slots" in shown
    assert write_remarks(bounded("read", "none")) == write_remarks(bounded("write", "file")) == []
    unbounded = dataclasses.replace(bounded("write", "none"), knee=None)
    assert write_remarks(unbounded) == []
