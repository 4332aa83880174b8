"""`edbench experiment job-types`: what each type of job does to storage and processors."""

from __future__ import annotations

import typer

from cli import options as opt
from cli.context import shared, with_options
from cli.experiments.studies import Corpus, given_seed
from cli.taking import taking
from core.options.dates import checked_zone
from experiments.orders import JobTypesOrder


@taking()
def job_types(ctx: typer.Context, *, corpus: Corpus, order: JobTypesOrder, storage: opt.StorageRoot = None) -> None:
    """Run a discovery, an extraction, a processing and an export of the same data, in random order, and put them side by side.

    With several numbers of workers each type is run with each of them. Calls and bytes a second, processor time of an item,
    and what share of the time is in storage calls. The report's path is the last line printed.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=order.slots, engine=None, filer=order.filer)
    counts = opt.numbers(order.workers, "--workers")
    zone = checked_zone(order.time_zone)

    from cli.experiments.job_types_run import run_types  # slow to come

    run_types(context, settings, corpus, counts, order.repeats, order.min_seconds, given_seed(order.seed), zone)
