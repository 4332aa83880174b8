"""The rates that a plan stands on: those of a result, or of a short scale-up made on the storage now."""

from __future__ import annotations

from pathlib import Path

import typer

from cli.answering import await_answer
from cli.context import shared
from cli.corpus.generate import reporter, usable_processors
from cli.experiments.conducting import carry_out, more_workers
from cli.experiments.studies import Study
from controller.jobs.orders import DiscoveryOrder
from core.settings import Settings
from dataset_gen.corpus import generate_corpus
from experiments.processes import processors
from experiments.result.codec import read_result
from experiments.sizing.rates import Rates, rates_of
from experiments.sizing.sizing import PROFILE, Wish, ranges
from experiments.workloads.discovery.result import of_discovery

SCALE, SEED = 0.004, 1  # of the corpus that is measured with: 180 MB
_REPEATS = 1


def rates_there(path: Path) -> Rates:
    """Of a result. Raises UsageError."""
    return rates_of(of_discovery(read_result(path)), str(path))


def rates_here(ctx: typer.Context, settings: Settings, wish: Wish) -> Rates:
    """Of the fewest and the most workers that may be planned, once each, over a small corpus that is made below the storage
    root the first time. Raises what `conduct` does."""
    context = shared(ctx)
    counts = wish.workers or ranges(processors())[0]
    await_answer(settings.storage)
    corpus = settings.storage / "corpora" / f"plan-{SCALE:g}-seed-{SEED}"
    if not (corpus / "dataset.json").exists():
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, PROFILE, SCALE, SEED, usable_processors(), report)
    study = Study(repeats=_REPEATS, filer_cache=f"{wish.filer_cache}B")
    plan = more_workers(settings, sorted({counts[0], counts[-1]}), study, SEED)
    context.say("measuring, some minutes; what follows is no result of the storage:")
    result, report_path = carry_out(ctx, settings, corpus, plan, study, DiscoveryOrder(), brief=True)
    return rates_of(of_discovery(result), str(report_path.parent))
