"""Which emulated filer a job is created for, and how many workers it has room for."""

from __future__ import annotations

from core.errors import UsageError
from core.filer.load import load_filer
from core.filer.site import MOST_WORKERS
from core.records import FilerChoice
from core.settings import Settings


def filer_choice(settings: Settings) -> FilerChoice:
    """What a job has to remember of the filer it is to run on; raises UsageError."""
    model = load_filer(settings.filer)
    return FilerChoice() if model is None else model.choice


def refuse_site(filer: str) -> None:
    """Raises UsageError where that is an emulated site: a replay makes calls and no more, so it waits for no processor and no database."""
    model = load_filer(filer)
    if model is not None and model.site is not None:
        raise UsageError(
            f"--filer: {model.name!r} is an emulated site, and a replay makes storage calls only, so that the site's CPUs"
            " and databases have no effect; give a filer, such as the one of the site",
            field="filer",
        )


def refuse_crowded_site(settings: Settings, workers: int) -> None:
    """Raises UsageError where an emulated site has not a share of its processors for each of so many workers."""
    if workers <= MOST_WORKERS:
        return
    model = load_filer(settings.filer)
    if model is not None and model.site is not None:
        raise UsageError(
            f"{workers} workers on the emulated site {model.name}: at most {MOST_WORKERS} are possible, each with its own share"
            " of the CPUs and its own client cache"
        )
