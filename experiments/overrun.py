"""Whether this machine kept up with the site that it emulated: if not, its own speed is in the figures, and they say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from controller.labels.rules import OVERRUN, UNJUDGED
from experiments.result.schema import CallTime

MOST_BUSY = 0.70  # of this host's processors: beyond it slots wait for them
MOST_OVER = 0.05  # of the time that calls and waits for a site were booked for: what they ended later than booked


class Emulated(Protocol):
    """What is asked of a run."""

    @property
    def host_cpu(self) -> float | None: ...

    @property
    def call_time(self) -> CallTime | None: ...

    @property
    def result(self) -> dict[str, Any]: ...


def overshoot(run: Emulated) -> float | None:
    """What calls, and waits for a site's processors and databases, took beyond their booked end, of what they were booked for;
    None where nobody measured either. Runs of before these waits were told have calls alone, and runs that recorded no calls
    have the waits alone."""
    waits = (run.result.get("filer") or {}).get("site_waits") or {}
    late, booked = float(waits.get("late_s", 0.0)), float(waits.get("booked_s", 0.0))
    time = run.call_time
    if time is not None and time.exact:
        late += time.processor_s
        booked += time.call_s - time.processor_s
    return late / booked if booked > 0 else None


def slower_than_stood_for(run: Emulated) -> bool:
    """Whether a processor here was slower than the emulated core that it stood for: what it does then ends late, waits or none."""
    return float((run.result.get("filer") or {}).get("core_s", 1.0)) < 1.0


def overran(run: Emulated) -> bool:
    """Whether the machine was too slow for this run."""
    over = overshoot(run)
    if slower_than_stood_for(run):
        return True
    return (run.host_cpu is not None and run.host_cpu > MOST_BUSY) or (over is not None and over > MOST_OVER)


def unjudged(run: Emulated) -> bool:
    """Whether nobody can say that the machine kept up: what is not measured is not taken to be well."""
    return not overran(run) and (run.host_cpu is None or overshoot(run) is None)


def told_overrun(runs_by_point: Sequence[Sequence[Emulated]]) -> str:
    """The label of a study, which has no verdict then; empty where every run kept up."""
    for label, holds in ((OVERRUN, overran), (UNJUDGED, unjudged)):
        some = sum(any(map(holds, runs)) for runs in runs_by_point)
        if some:
            return label if some == len(runs_by_point) else f"{label} at {some} of {len(runs_by_point)} points"
    return ""
