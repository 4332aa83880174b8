"""`edbench experiment job-types`: what each type of job does to storage and processors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared, with_options
from cli.experiments.studies import MinSeconds, Numbers, Repeats, Seed, given_seed

_LEAST_SECONDS = 1.0
Corpus = Annotated[Path, typer.Option("--corpus", metavar="DIR", help="a corpus, or any directory of custodians'")]


def job_types(
    ctx: typer.Context,
    *,
    corpus: Corpus,
    workers: Numbers = "2",
    slots: opt.Slots = None,
    repeats: Repeats = 5,
    min_seconds: MinSeconds = _LEAST_SECONDS,
    filer: Annotated[str | None, typer.Option("--filer", metavar="NAME", help="emulated filer")] = None,
    storage: opt.StorageRoot = None,
    seed: Seed = None,
) -> None:
    """Run a discovery, an extraction, a processing and an export of the same data, in random order, and put them side by side.

    With several numbers of workers each type is run with each of them. Calls and bytes a second, processor time of an item, and what share of the time is in storage calls. The report's
    path is the last line printed.
    """
    context = shared(ctx)
    counts = opt.numbers(workers, "--workers")
    settings = with_options(context.settings(), storage=storage, slots=slots, engine=None, filer=filer)

    from cli.experiments.job_types_run import run_types  # slow to come

    run_types(context, settings, corpus, counts, repeats, min_seconds, given_seed(seed))
