"""The discovery of `edbench profile run all`: a corpus made on the storage under test, and a scale-up over it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import typer

from cli.context import shared
from cli.corpus.generate import reporter, usable_processors
from cli.experiments.conducting import carry_out, more_workers
from cli.experiments.studies import Study
from cli.profiles.running import Wish
from controller.jobs.orders import DiscoveryOrder
from core.settings import Settings
from dataset_gen.corpus import generate_corpus
from experiments.profiles.owner import claimed
from experiments.profiles.refusal import refuse_bytes
from experiments.result.steady import MIN_SECONDS

DISCOVERY = "discovery"
_PROFILE, _SEED = "reference", 1
_RAW, _FILES = 45e9, 1_000_000  # of that profile at scale 1
_TIMES = 4  # its size: corpus, what is taken out of it, indexes


def refuse_corpus(path: Path, scale: float, *, yes: bool) -> None:
    """Raises UsageError where it has no room there."""
    refuse_bytes(DISCOVERY, path, int(_TIMES * _RAW * scale), int(_TIMES * _FILES * scale), yes=yes)


def discovered(
    ctx: typer.Context, settings: Settings, path: Path, there: Path, wish: Wish, *, scale: float, workers: Sequence[int]
) -> None:
    """Corpus and storage root lie in a directory of their own on `path`, which goes; the package is put `there`.

    Raises what `conduct` does, UsageError where the path is taken.
    """
    context = shared(ctx)
    with claimed(path) as own:
        corpus = own / "corpus"
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, _PROFILE, scale, _SEED, usable_processors(), report)
        at = dataclasses.replace(settings, storage=own / "storage")
        study = Study(repeats=wish.repeats, min_seconds=wish.min_seconds or MIN_SECONDS)
        plan = more_workers(at, workers, study, wish.seed)
        _, page = carry_out(ctx, at, corpus, plan, study, DiscoveryOrder(), brief=True)
        shutil.copytree(page.parent, there, copy_function=shutil.copyfile)
