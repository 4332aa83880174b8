"""What to do about each label of a job or a result."""

from __future__ import annotations

from collections.abc import Iterable

from controller.labels.rules import LOWERED, NO_BASELINE, UNDECLARED
from controller.labels.surroundings import ELSEWHERE
from controller.timeline.thresholds import CACHE_FACTOR, LIMITED
from core.options import FILER

_ADVICE = {
    FILER: "its delays are modelled; measure the filer itself, without --filer",
    ELSEWHERE: "copy the source to the storage under test, to measure what is read of it",
    "CACHED": f"use at least {CACHE_FACTOR} x as much data as the memory of this client and the filer's cache together",
    "SHORT": "short runs measure start-up and caches; use more data or a longer trace, until every run takes as long as the"
    " rule requires (--min-seconds; 10 minutes)",
    "NOT STEADY": "the rate changed during the measurement, so its mean is not meaningful; run longer, with nothing else on the"
    " storage; the warnings name the points",
    LOWERED: "the required length of a run was set below 10 minutes; state that wherever a figure is quoted, or remove --min-seconds",
    UNDECLARED: "state what the filer can cache, with EDBENCH_FILER_CACHE=16GB, or for experiments and replays --filer-cache"
    " 16GB (0B: nothing); without it CACHED cannot be determined",
    NO_BASELINE: "it is not known what limited the run; the warnings name the cause, often too little memory for null storage (--null-memory)",
    LIMITED: "this point measured the load generator and not the storage; add cores or hosts for the load, or use the other points only",
}


def advice_on(labels: Iterable[str]) -> list[str]:
    """`LABEL: what to do`, of those labels that have it, each once."""
    given = [label for label in labels if label]
    return [f"{name}: {what}" for name, what in _ADVICE.items() if any(label.startswith(name) for label in given)]
