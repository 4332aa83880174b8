"""Sections that discoveries contribute to a report."""

from __future__ import annotations

from collections.abc import Callable

from experiments.report.parts import Section
from experiments.report.sections import disclosure, knee, points, steadiness, tuning
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.sections.counted import containers, exceptions, ran_in_containers
from experiments.workloads.discovery.sections.latency import calls_an_item, io_kinds, latency, stages
from experiments.workloads.discovery.sections.over_time import (
    calls_over_time,
    database_activity,
    generator,
    occupancy,
    phases,
    queue_depth,
)
from experiments.workloads.discovery.sections.r1 import one_or_two, r1_comparison, sizes
from experiments.workloads.discovery.sections.scaling import scaling

ALWAYS: tuple[Callable[[Result], Section], ...] = (
    points, steadiness, r1_comparison, scaling, calls_over_time, database_activity, one_or_two, sizes, stages, queue_depth, latency,
    calls_an_item, io_kinds, phases, occupancy, generator, exceptions, disclosure,
)  # fmt: skip
_OF_NUMBERS = (r1_comparison, scaling, one_or_two)  # compare workers or databases, which are the same for every setting


def sections(result: Result) -> list[Section]:
    """Return every section in order. The knee's appears only for that kind, after the points; the containers' only if
    there were any, after the generator's; and if settings are compared, none against workers or databases."""
    order = [one for one in ALWAYS if result.axis != "setting" or one not in _OF_NUMBERS]
    if ran_in_containers(result):
        order.insert(order.index(generator) + 1, containers)
    if result.kind == "knee":
        order.insert(1, knee)
    if result.tuning is not None:
        order.insert(1, tuning)
    return [section(result) for section in order]
