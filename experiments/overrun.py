"""Whether this machine kept up with the site that it emulated: if not, its own speed is in the figures, and they say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from controller.labels.rules import OVERRUN
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
    None where nobody measured it. Runs of before these waits were told have calls alone."""
    time = run.call_time
    if time is None or not time.exact:
        return None
    waits = (run.result.get("filer") or {}).get("site_waits") or {}
    late = time.processor_s + float(waits.get("late_s", 0.0))
    booked = time.call_s - time.processor_s + float(waits.get("booked_s", 0.0))
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


def told_overrun(runs_by_point: Sequence[Sequence[Emulated]]) -> str:
    """The label of a study; empty where every run kept up."""
    over = sum(any(map(overran, runs)) for runs in runs_by_point)
    if not over:
        return ""
    return OVERRUN if over == len(runs_by_point) else f"{OVERRUN} at {over} of {len(runs_by_point)} points"
