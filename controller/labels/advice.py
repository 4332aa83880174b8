"""What to do about each label of a job or a result."""

from __future__ import annotations

from collections.abc import Iterable

from controller.labels.rules import LOWERED, OVERRUN, UNDECLARED, UNJUDGED, UNPAIRED
from controller.labels.surroundings import ELSEWHERE
from controller.timeline.thresholds import CACHE_FACTOR, LIMITED
from core.options.choices import FILER, SITE

_ADVICE = {
    FILER: "its delays are computed; measure the filer itself, without --filer",
    SITE: "its machines and its filer are computed; measure the real ones, without --site",
    OVERRUN: "there is no verdict, this machine's own speed is in the figures; give the site a larger time_scale, or take fewer"
    " workers, with nothing else on this machine",
    UNJUDGED: "there is no verdict: neither calls nor waits, or this machine's processors, were measured in a run; run it again with the"
    " workers on this machine, EDBENCH_OBSERVE on, and for some seconds",
    ELSEWHERE: "copy the source to the storage under test, to measure what is read of it",
    "CACHED": f"take data of at least {CACHE_FACTOR} x what this client's memory and the filer's cache hold",
    "SHORT": "it shows the start, and what caches took; take more data or a longer trace, until every run lasts as long as the"
    " rule wants (--min-seconds; 10 minutes)",
    "NOT STEADY": "the rate changed while it was measured, so a mean of it says nothing; run longer, with nothing else on the"
    " storage; the warnings say where",
    LOWERED: "below the rule's 10 minutes; say so wherever a figure is quoted, or leave --min-seconds away",
    UNDECLARED: "say what the filer can cache, such as EDBENCH_FILER_CACHE=16GB, of experiments and replays --filer-cache"
    " 16GB (0B: nothing); CACHED is not told without it",
    UNPAIRED: "who was the limit is not known; the warnings say why: give null storage more memory (--null-memory of experiments)",
    LIMITED: "says nothing about the storage; add processors or hosts for the load, or use a study's other points only",
}


def advice_on(labels: Iterable[str]) -> list[str]:
    """`LABEL: what to do`, of those labels that have it, each once."""
    given = [label for label in labels if label]
    return [f"{name}: {what}" for name, what in _ADVICE.items() if any(label.startswith(name) for label in given)]
