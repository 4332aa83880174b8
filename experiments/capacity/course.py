"""How what a phase asks for changes with its course, read out of an emulated filer's samples.

Tasks differ in kind, and their order is no chance: many small entries to be made first, large files to be read later, say. Then
two stations are full one after the other. A phase that asks for the same throughout would fill them at once, and be over
too soon. Where the same job ran with other numbers of workers, or twice at once, its course was the same.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence

from core.filer.model import STATIONS
from core.filer.site import SiteModel
from experiments.capacity.filer_load import DATA, LINK, METADATA
from experiments.capacity.network import DATABASE
from experiments.capacity.site_load import within
from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.result import Run, TaskSpan

PROCESSORS = "processors"
OWN = f"worker {PROCESSORS}"
MOST_SIZES = 20_000  # of a phase's tasks that are known or drawn; of more tasks each is for several neighbours
_MOST_PARTS = 24
_SAMPLES_A_PART = 3  # a second each: what was booked in one may be served in the next


def course(run: Run, use: PhaseUse, site: SiteModel | None) -> Mapping[str, tuple[float, ...]]:
    """By station, what equal parts of a phase's work ask for, over their mean; {} where there are too few samples to tell."""
    end = use.start_s + use.elapsed_s
    samples = sum(use.start_s <= at <= end for at, _ in run.series.filer)
    parts = min(_MOST_PARTS, samples // _SAMPLES_A_PART)
    if parts < 2:
        return {}
    spans = [span for span in run.series.tasks if span[2] == use.phase]
    moments = _moments(spans, parts) if spans else [use.start_s + use.elapsed_s * n / parts for n in range(parts + 1)]
    edges = list(itertools.pairwise(moments))
    hosts = {f"host {n}": host.cores * host.speed for n, host in enumerate(site.hosts, 1)} if site else {}
    stations = {
        METADATA: {"metadata": 1.0},
        DATA: {"data": 1.0},
        LINK: {"link": 1.0},
        DATABASE: {"database 1": 1.0},
        OWN: hosts,
    }
    asked = {
        name: [sum(within(run, one, *edge) * each for one, each in of.items()) for edge in edges]
        for name, of in stations.items()
    }
    return {
        name: tuple(one * parts / sum(seconds) for one in seconds) for name, seconds in asked.items() if sum(seconds)
    }


def _moments(spans: Sequence[TaskSpan], parts: int) -> list[float]:
    """When each of so many equal parts of the slots' time was over, and first when it began."""
    changes = sorted([(start, 1) for *_, start, _ in spans] + [(end, -1) for *_, end in spans])
    total = sum(end - start for *_, start, end in spans)
    out, spent, busy, before = [changes[0][0]], 0.0, 0, changes[0][0]
    for at, change in changes:
        while len(out) < parts and spent + busy * (at - before) >= total * len(out) / parts:
            step = (total * len(out) / parts - spent) / busy
            spent, before = spent + busy * step, before + step
            out.append(before)
        spent, before, busy = spent + busy * (at - before), at, busy + change
    return [*out, changes[-1][0]]


def sizes(use: PhaseUse) -> tuple[float, ...]:
    """Of a phase's tasks by the mean one, in the order of their claims, largest first where a result does not tell it; of more
    than MOST_SIZES so many of them.

    A result keeps some hundred (`phase_use.thinned`), evenly spread over their ranks: one that was kept for four stands for
    four, and not for one four times as long. What lies between two that were kept is taken to rise evenly, and to have been claimed
    when the nearer of them was.
    """
    kept, tasks = use.task_s, min(use.tasks, MOST_SIZES)
    places = use.task_claims or range(len(kept), 0, -1)
    ranks = [round(n * (tasks - 1) / max(1, len(kept) - 1)) for n in range(len(kept))]
    every = [(place, seconds) for place, seconds in zip(places[:1], kept[:1], strict=True)]
    for (low, high), (place, after), (before, upper) in zip(
        itertools.pairwise(ranks), itertools.pairwise(places), itertools.pairwise(kept), strict=True
    ):
        for step in range(1, high - low + 1):
            share = step / (high - low)
            every.append((place if share < 0.5 else after, before + (upper - before) * share))
    ordered = [seconds for _, seconds in sorted(every, key=lambda one: one[0])]
    mean = statistics.fmean(ordered) if ordered else 0.0
    return tuple(seconds / mean for seconds in ordered) if mean else (1.0,)


def queued(run: Run) -> list[float]:
    """Seconds that calls waited in the queues of an emulated filer by phase, and not in those of a site around it: of each
    station all that it counted, shared out by when it was waited for, or by the calls where no sample tells that."""
    counted = (run.result.get("filer") or {}).get("stations") or {}
    calls = [float(sum(call.calls for call in use.calls.values())) for use in run.phases]
    out = [0.0] * len(run.phases)
    for name, station in counted.items():
        if name in STATIONS:
            waited = [_waited(run, name, use) for use in run.phases]
            shares = waited if sum(waited) else calls
            seconds = station["mean_wait_us"] * station["calls"] / 1e6
            out = [before + seconds * share / (sum(shares) or 1.0) for before, share in zip(out, shares, strict=True)]
    return out


def _waited(run: Run, name: str, use: PhaseUse) -> float:
    """How long a visit waited on average, for all that the station did in the phase; relative."""
    end = use.start_s + use.elapsed_s
    looks = [stations[name] for at, stations in run.series.filer if name in stations and use.start_s <= at <= end]
    return sum(look["wait_us"] * look["utilisation"] for look in looks)


def ending(run: Run, use: PhaseUse) -> float:
    """Seconds of slots between their own last task of a phase and its end; 0 where a result does not tell."""
    ends = {(worker, slot): end for worker, slot, phase, _, end in run.series.tasks if phase == use.phase}
    return sum(max(ends.values()) - end for end in ends.values()) if ends else 0.0
