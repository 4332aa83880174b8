"""One look at several jobs that run at the same time, as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.jobs.progress import Snapshot
from core.records import PHASES, JobState

# What the group is: the first of these that any of its jobs is.
_STATES = (
    JobState.RUNNING,
    JobState.PAUSING,
    JobState.CANCELLING,
    JobState.SUSPENDED,
    JobState.PAUSED,
    JobState.HELD,
    JobState.DELETING,
    JobState.CANCELLED,
    JobState.COMPLETED_WITH_EXCEPTIONS,
    JobState.COMPLETED,
)


def group_state(states: Sequence[JobState]) -> JobState:
    """One state for several jobs: what still runs first, then what is wrong, then what is done."""
    return min(states, key=_STATES.index)


def combined(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Sums of counts and rates; shares, phases and times of the job that is furthest behind."""
    if len(snapshots) == 1:
        return snapshots[0]
    behind = min((s for s in snapshots if not s.state.over), key=_how_far, default=snapshots[0])
    elapsed = max(s.elapsed_s for s in snapshots)
    known = [s.items_known for s in snapshots if s.items_known is not None]
    open_ones = [s for s in snapshots if not s.state.over]
    return Snapshot(
        state=group_state([s.state for s in snapshots]),
        phase=behind.phase,
        reason=next((s.reason for s in snapshots if s.reason), None),
        items_done=sum(s.items_done for s in snapshots),
        items_known=sum(known) if len(known) == len(snapshots) else None,
        share=behind.share,
        tasks_done=sum(s.tasks_done for s in snapshots),
        tasks_known=sum(s.tasks_known for s in snapshots),
        raw_gb_per_hour=_over_longest(snapshots, lambda s: s.raw_gb_per_hour, elapsed),
        discovered_gb_per_hour=_over_longest(snapshots, lambda s: s.discovered_gb_per_hour, elapsed),
        raw_gb_per_hour_now=sum(s.raw_gb_per_hour_now for s in snapshots if not s.state.over),
        discovered_gb_per_hour_now=sum(s.discovered_gb_per_hour_now for s in snapshots if not s.state.over),
        calls_per_second=sum(s.calls_per_second for s in snapshots),
        exceptions=sum(s.exceptions for s in snapshots),
        elapsed_s=elapsed,
        phase_left_s=_longest([s.phase_left_s for s in open_ones if s.phase is behind.phase]),
        left_s=_longest([s.left_s for s in open_ones]),
        waiting=tuple(line for s in snapshots for line in s.waiting),
    )


def _how_far(snapshot: Snapshot) -> tuple[int, float]:
    return PHASES.index(snapshot.phase), snapshot.share or 0.0


def _longest(seconds: Sequence[float | None]) -> float | None:
    """None when one of them is not known."""
    known = [value for value in seconds if value is not None]
    return max(known, default=None) if len(known) == len(seconds) else None


def _over_longest(snapshots: Sequence[Snapshot], rate: Callable[[Snapshot], float], elapsed: float) -> float:
    """Bytes of all jobs over the longest job's time, from each job's rate over its own time."""
    return sum(rate(s) * s.elapsed_s for s in snapshots) / elapsed if elapsed > 0 else 0.0
