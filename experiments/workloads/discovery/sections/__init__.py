"""The sections that discoveries contribute to a report."""

from __future__ import annotations

from collections.abc import Callable

from experiments.report.disclosure import disclosure
from experiments.report.knee import knee
from experiments.report.parts import Section
from experiments.report.points import points
from experiments.report.steadiness import steadiness
from experiments.report.tuning import tuning
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.sections.array import array, has_array
from experiments.workloads.discovery.sections.beside_r1 import beside_r1
from experiments.workloads.discovery.sections.calls_an_item import calls_an_item
from experiments.workloads.discovery.sections.calls_over_time import calls_over_time
from experiments.workloads.discovery.sections.containers import containers, ran_in_containers
from experiments.workloads.discovery.sections.database_activity import database_activity
from experiments.workloads.discovery.sections.exceptions import exceptions
from experiments.workloads.discovery.sections.generator import generator
from experiments.workloads.discovery.sections.io_kinds import io_kinds
from experiments.workloads.discovery.sections.latency import latency
from experiments.workloads.discovery.sections.occupancy import occupancy
from experiments.workloads.discovery.sections.one_or_two import one_or_two
from experiments.workloads.discovery.sections.phases import phases
from experiments.workloads.discovery.sections.queue_depth import queue_depth
from experiments.workloads.discovery.sections.scaling import scaling
from experiments.workloads.discovery.sections.sizes import sizes
from experiments.workloads.discovery.sections.stages import stages

ALWAYS: tuple[Callable[[Result], Section], ...] = (
    points, steadiness, beside_r1, scaling, calls_over_time, database_activity, one_or_two, sizes, stages, queue_depth, latency,
    calls_an_item, io_kinds, phases, occupancy, generator, exceptions, disclosure,
)  # fmt: skip


def sections(result: Result) -> list[Section]:
    """Return every section in order; the knee's only for that kind, right after the points, and the containers' only where there
    were any, after the generator's."""
    order = list(ALWAYS)
    if has_array(result):
        order.insert(order.index(calls_over_time) + 1, array)
    if ran_in_containers(result):
        order.insert(order.index(generator) + 1, containers)
    if result.kind == "knee":
        order.insert(1, knee)
    if result.tuning is not None:
        order.insert(1, tuning)
    return [section(result) for section in order]
