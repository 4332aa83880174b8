"""Bounds on a job's figures, and the options that distribute its tasks."""

import pytest
from job_figures import GROUP, figures

from controller.jobs.bounds import checked_bounds, judged
from controller.jobs.distribution import Distribution, parse_phase_slots
from controller.jobs.figures import JobFigures, merge
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.records import JobOptions, Phase, TaskOrder
from core.settings import Settings


def test_a_jobs_bounds_are_on_the_fields_of_its_result() -> None:
    """Promise: fields, phases, all exceptions and percentiles by op, of a job and of a group alike."""
    one = figures()
    texts = ["gb_per_hour<1", "items<7", "exceptions>2", "phases.expand>10s", "phases.ocr>1s", "p99.mkdir>1ms"]
    found = judged(one, texts)
    assert [outcome.value for outcome in found] == [
        one.gb_per_hour_discovered, one.items, 3.0, one.phases[Phase.EXPAND], None, None,
    ]  # fmt: skip
    assert [outcome.failed for outcome in found] == [False, False, True, True, True, True]
    group = merge([one, one], **GROUP)
    assert judged(group, ["items<7"])[0].value == 2 * one.items
    reported = one.with_observed({"bounds": found})
    assert JobFigures.model_validate(reported.to_json()) == reported
    assert "bounds" not in one.to_json()


def test_an_order_with_a_wrong_bound_is_refused_before_anything_is_created() -> None:
    """Promise: by the command and by the API, which share the order."""
    with pytest.raises(UsageError, match="there is no figure reads"):
        DiscoveryOrder(fail_if=["reads>5"]).job_options(Settings())
    assert DiscoveryOrder(fail_if=["items<5"]).job_options(Settings()).fail_if == ("items<5",)
    with pytest.raises(UsageError, match="give at most 100"):
        checked_bounds(["items<5"] * 101)


def test_the_distribution_of_an_order_is_the_jobs_and_is_recorded_in_its_words() -> None:
    order = DiscoveryOrder(batch_mb=8, batch_files=50, split_mb=16, task_order=TaskOrder.FAIR, window_factor=3, index_streams=5,
                           phase_slots="walk=2, expand=7", most_tasks=9, reserve_slots=4)  # fmt: skip
    options = order.job_options(Settings())
    assert (options.batch_bytes, options.split_bytes) == (8_000_000, 16_000_000)
    assert options.phase_slots == {Phase.WALK: 2, Phase.EXPAND: 7}
    assert [options.at_a_time(phase) for phase in (Phase.WALK, Phase.EXPAND, Phase.INDEX, Phase.FINALISE)] == [
        2,
        7,
        5,
        9,
    ]
    assert JobOptions.from_json(options.to_json()) == options
    reported = Distribution.of(options)
    assert reported.distributed(JobOptions()) == order.distributed(JobOptions())
    assert Distribution.of(JobOptions()) == Distribution()
    assert str(Distribution()) == "default"


@pytest.mark.parametrize(
    "text", ["walk", "walk=", "walk=0", "walk=x", "finalise=1", "walk=1;index=2", "walk=99999", "=1"]
)
def test_phase_slots_that_are_none_are_refused(text: str) -> None:
    """Promise: in one line that lists the phases."""
    with pytest.raises(UsageError, match="use the phases walk, expand, index, ocr"):
        parse_phase_slots(text)
