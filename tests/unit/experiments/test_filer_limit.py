"""The limit of an emulated filer is named, and only where it is known."""

import dataclasses

import pytest
from experiment_runs import a_run, points

from experiments.conditions import busiest, filer_limit
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.wording import limit_remarks


def seconds(**busy: list[float]) -> list[tuple[float, dict[str, dict[str, float]]]]:
    """A series: utilisation of each station by second."""
    return [
        (float(at), {name: {"utilisation": share} for name, share in zip(busy, shares, strict=True)})
        for at, shares in enumerate(zip(*busy.values(), strict=True))
    ]


def test_the_busiest_station_is_found_by_its_median_second_of_work() -> None:
    """Waiting for work before and after, and the seconds in which work began and ended, make it no less busy."""
    series = seconds(link=[0, 0, 0.1, 0.99, 0.98, 0.2, 0.97, 0.3, 0], data=[0, 0, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5, 0])
    assert busiest(series) == ("link", 0.975)
    assert filer_limit(series, waits=True) == ["limit: the filer's link, 98 % busy"]


def test_where_no_station_is_busy_its_delays_are_the_limit_of_those_who_wait_for_it() -> None:
    series = seconds(metadata=[0.1, 0.06, 0.06, 0.01], link=[0.0, 0.0, 0.0, 0.0])
    assert filer_limit(series, waits=True) == ["limit: the filer's delays, no station over 6.0 % busy"]
    assert filer_limit(series, waits=False) == []


@pytest.mark.parametrize("series", [[], seconds(link=[0.0, 0.0]), seconds(link=[0.9, 0.9])])
def test_too_few_seconds_name_nothing(series: list[tuple[float, dict[str, dict[str, float]]]]) -> None:
    assert filer_limit(series, waits=True) == []


def test_a_discovery_names_it_unless_the_generator_was_the_limit() -> None:
    at = PointSpec(1, 1, 4)
    slow = a_run()
    busy = dataclasses.replace(slow, series=dataclasses.replace(slow.series, filer=tuple(seconds(data=[0.9] * 4))))
    assert limit_remarks(points({at: [busy]})) == ["limit: the filer's data, 90 % busy"]
    assert limit_remarks(points({at: [dataclasses.replace(busy, null_elapsed_s=busy.elapsed_s)]})) == []


def test_storage_that_is_not_emulated_is_named_where_it_takes_most_of_the_time() -> None:
    few, many = PointSpec(1, 1, 4), PointSpec(1, 4, 4)
    real = dataclasses.replace(a_run(), series=dataclasses.replace(a_run().series, filer=()))
    bound = dataclasses.replace(real, null_elapsed_s=real.elapsed_s * 0.4)
    shared = dataclasses.replace(bound, null_elapsed_s=bound.elapsed_s * 0.6)
    assert limit_remarks(points({few: [bound], many: [bound]})) == ["limit: the storage"]
    assert limit_remarks(points({few: [bound], many: [shared]})) == [f"limit: the storage at {few}"]
    assert limit_remarks(points({few: [shared], many: [shared]})) == []
    assert limit_remarks(points({few: [dataclasses.replace(bound, null_elapsed_s=None)]})) == []
