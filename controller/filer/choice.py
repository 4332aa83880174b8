"""Which emulated filer a job is created for."""

from __future__ import annotations

from core.filer.load import load_filer
from core.records import FilerChoice
from core.settings import Settings


def filer_choice(settings: Settings) -> FilerChoice:
    """What a job has to remember of the filer it is to run on; raises UsageError."""
    model = load_filer(settings.filer)
    return FilerChoice() if model is None else model.choice
