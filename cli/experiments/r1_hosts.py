"""What `edbench experiment r1 --hosts` does: report R1's rows on hosts that joined, on their storage. Nothing is emulated, so that
R1's rows stand beside ours and nothing is held against the site."""

from __future__ import annotations

from pathlib import Path

import typer

from cli.context import shared, with_options
from cli.experiments.conducting import carry_out
from cli.experiments.r1_rows import show_tables
from cli.experiments.studies import Study, given_seed
from cli.options import numbers
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from experiments.kinds.grid import Grid
from experiments.orders import R1Order
from experiments.workloads.discovery.r1.parameters import KIND, SLOTS
from experiments.workloads.discovery.result import PointSpec, of_discovery


def run_on_hosts(ctx: typer.Context, asked: R1Order, study: Study, corpus: Path, workers: str) -> None:
    """Few workers and many on one database, many on two; then the tables. Raises UsageError, and what `conduct` does."""
    context = shared(ctx)
    points = [PointSpec(databases, count, SLOTS) for databases, count in rows(workers)]
    settings = with_options(context.settings(None), storage=study.storage, slots=SLOTS, engine=None)
    plan = Grid(KIND, "workers", points, repeats=asked.repeats, seed=given_seed(asked.seed))
    order = DiscoveryOrder(index_streams=asked.index_streams or None)
    result, path = carry_out(ctx, settings, corpus, plan, study, order)
    show_tables(context.out, of_discovery(result))
    print(path)


def rows(workers: str) -> list[tuple[int, int]]:
    """Databases and workers of each row; raises UsageError."""
    counts = numbers(workers, "--workers")
    if len(counts) != 2 or not 1 <= counts[0] < counts[1]:
        raise UsageError(
            f"--workers is {workers!r}; it must be two numbers, as R1's 10,30: few and more workers", field="workers"
        )
    few, many = counts
    return [(1, few), (1, many), (2, many)]
