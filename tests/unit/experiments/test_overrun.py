"""Whether this machine kept up with an emulated site: what is counted as late."""

from __future__ import annotations

import dataclasses

import pytest
from report_results import run

from experiments.overrun import overran, overshoot, told_overrun, unjudged
from experiments.result.schema import CallTime

_CALLS = CallTime(call_s=104.0, service_s=100.0, queue_s=0.0, processor_s=4.0, exact=True, dominated={})


@pytest.mark.parametrize(
    ("booked_s", "late_s", "over", "too_late"),
    [(0.0, 0.0, 0.04, False), (100.0, 4.0, 0.04, False), (100.0, 8.0, 0.06, True), (300.0, 4.0, 0.02, False)],
)
def test_waits_for_processors_and_databases_count_as_calls_do(
    booked_s: float, late_s: float, over: float, too_late: bool
) -> None:
    """Together over 5 % of what they were booked for is too late, though the calls by themselves were not."""
    base = run(1)
    waits = {"filer": {"site_waits": {"booked_s": booked_s, "late_s": late_s}}}
    seen = dataclasses.replace(base, host_cpu=0.1, call_time=_CALLS, result=base.result | waits)
    assert overshoot(seen) == pytest.approx(over)
    assert overran(seen) == too_late


def test_a_run_that_tells_of_calls_alone_is_judged_by_them() -> None:
    """Results of before."""
    seen = dataclasses.replace(run(1), host_cpu=0.1, call_time=_CALLS)
    assert overshoot(seen) == pytest.approx(0.04)


@pytest.mark.parametrize("calls", [None, dataclasses.replace(_CALLS, exact=False)])
@pytest.mark.parametrize(("late_s", "too_late"), [(4.0, False), (8.0, True)])
def test_waits_are_judged_alone_where_calls_are_not_known(
    calls: CallTime | None, late_s: float, too_late: bool
) -> None:
    """EDBENCH_OBSERVE=off records no call, and must not switch the judgement off; nor do estimates of call time count."""
    base = run(1)
    waits = {"filer": {"site_waits": {"booked_s": 100.0, "late_s": late_s}}}
    seen = dataclasses.replace(base, host_cpu=0.1, call_time=calls, result=base.result | waits)
    assert overshoot(seen) == pytest.approx(late_s / 100)
    assert (overran(seen), unjudged(seen)) == (too_late, False)


@pytest.mark.parametrize(("host_cpu", "calls"), [(0.1, None), (None, _CALLS), (None, None)])
def test_what_nobody_measured_is_not_taken_to_be_well(host_cpu: float | None, calls: CallTime | None) -> None:
    """Neither an unknown lateness nor unknown processors pass; where the other says that it was too slow, that is said."""
    seen = dataclasses.replace(run(1), host_cpu=host_cpu, call_time=calls)
    fine = dataclasses.replace(run(1), host_cpu=0.1, call_time=_CALLS)
    assert told_overrun([[seen]]) == "EMULATION NOT JUDGED"
    assert told_overrun([[fine], [fine, seen]]) == "EMULATION NOT JUDGED at 1 of 2 points"
    late = dataclasses.replace(seen, host_cpu=0.9)
    assert told_overrun([[seen], [late]]) == "EMULATION OVERRUN at 1 of 2 points"
