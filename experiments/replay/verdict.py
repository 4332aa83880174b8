"""What a replay may claim: whether the replayer was the limit, the labels, and the first line."""

from __future__ import annotations

from collections.abc import Sequence

from controller.replay.ceiling import MARK
from controller.timeline.thresholds import CACHE_FACTOR, CACHED, CPU_SHARE, RUN_QUEUE_SHARE
from experiments.replay.result import ALL, Ceiling, Fidelity, RecordedFigures, ReplayKnee, ReplayPoint, by_storage
from experiments.report import words
from experiments.verdict import limited_label


def limits_of(
    rate: float, ceiling: Ceiling | None, client_cpu: float, run_queue_share: float | None
) -> tuple[str, ...]:
    """Why a point says nothing about the storage; empty when it may."""
    out = []
    if ceiling is not None and ceiling.calls_per_second and (share := rate / ceiling.calls_per_second) > MARK:
        out.append(
            f"{rate:,.0f} calls/s are {share:.0%} of the {ceiling.calls_per_second:,.0f} that the same clients make on"
            f" null storage (over {MARK:.0%})"
        )
    if client_cpu > CPU_SHARE:
        out.append(f"the clients used {client_cpu:.0%} of the processors (over {CPU_SHARE:.0%})")
    if run_queue_share is not None and run_queue_share > RUN_QUEUE_SHARE:
        out.append(
            f"the clients waited {run_queue_share:.2f} s for a processor for each second of calls (over"
            f" {RUN_QUEUE_SHARE})"
        )
    return tuple(out)


def labels_of(points: Sequence[ReplayPoint], *, touched: int, memory: int) -> tuple[str, ...]:
    """Labels that must stand before any figure. `touched`: bytes of the files, `memory`: of this host."""
    out = [
        storage if len(those) == len(points) else f"{storage} at {len(those)} of {len(points)} points"
        for storage, those in by_storage(points).items()
        if those[0].emulated
    ]
    if touched < CACHE_FACTOR * memory:
        out.append(CACHED)
    return (*out, *limited_label([point.limited for point in points]))


def verdict_of(
    labels: Sequence[str],
    storage: str,
    points: Sequence[ReplayPoint],
    speed: str,
    found: Fidelity | None,
    knee: ReplayKnee | None,
) -> str:
    """The first line: labels, then what was found in one sentence."""
    said = _knee_sentence(points, storage, knee) if knee is not None else _sentence(points, storage, speed)
    if found is not None and found.passed is not None:
        kept = "as recorded" if found.passed else "NOT as recorded"
        of = f" on {found.storage}" if len(by_storage(points)) > 1 else ""
        said += f"; {kept}{of} ({_differences(found)})"
    return "; ".join([*labels, said])


def _sentence(points: Sequence[ReplayPoint], storage: str, speed: str) -> str:
    pace = {"recorded": "at recorded speed", "max": "as fast as it goes"}.get(speed, f"at {speed} of recorded speed")
    together = by_storage(points)
    every = [_extremes(those) for those in together.values()]
    if len(together) == 1:
        return f"replay on {storage} {pace}: {every[0]}"
    named = (f"on {name}: {said}" for name, said in zip(together, every, strict=True))
    return f"replay {pace} {'; '.join(named)}"


def _extremes(points: Sequence[ReplayPoint]) -> str:
    """With the most clients, and with the fewest."""
    first, last = points[0], points[-1]
    shown = [last, first] if len(points) > 1 else [last]
    return " and ".join(f"{_figures(point)} with {words.many(point.clients, 'client')}" for point in shown)


def _figures(point: ReplayPoint) -> str:
    whole = point.response.get(ALL)
    tail = f", response p99 {words.microseconds(whole.p99_us)}" if whole is not None else ""
    return f"{words.count(point.calls_per_second)} calls/s{tail}"


def _knee_sentence(points: Sequence[ReplayPoint], storage: str, knee: ReplayKnee) -> str:
    said = f"replay on {storage}: "
    if knee.clients is None:
        return f"{said}no load keeps the bounds: {knee.broken}"
    at = next(point for point in points if point.clients == knee.clients)
    kept = f"{_figures(at)} with {words.many(at.clients, 'client')} keep all bounds on response time"
    return f"{said}{kept}; {knee.broken or 'no bound was broken up to the highest load'}"


def _differences(found: Fidelity) -> str:
    judged = [row for row in found.rows if row.bound is not None]
    return ", ".join(f"{row.what} {row.difference * 100:+z.1f} %" for row in judged).replace("-", "\u2212")


def warnings_of(
    recorded: RecordedFigures, points: Sequence[ReplayPoint], *, no_ceiling: str | None, adapted: int, opened: int = 0
) -> tuple[str, ...]:
    """What a reader must know before using the figures."""
    out = []
    if recorded.lost:
        out.append(f"the trace lacks {recorded.lost:,} calls that could not be kept when it was recorded")
    if adapted:
        out.append(
            f"{words.many(adapted, 'call')} of the trace ended otherwise than the rest of it explains (another program"
            " worked on the same files); they are replayed by the rest"
        )
    if opened:
        out.append(
            f"{words.many(opened, 'file')} that a call of the trace needs open, no call of the trace opened: the replay"
            " opens them, unmeasured"
        )
    for point in points:
        if point.differences:
            on = f"{point.storage}, " if len(by_storage(points)) > 1 else ""
            told = "; ".join(f"{what} {calls:,} times" for what, calls in list(point.differences.items())[:5])
            more = f" and {len(point.differences) - 5} more kinds" if len(point.differences) > 5 else ""
            out.append(
                f"{on}{words.many(point.clients, 'client')}: {sum(point.differences.values()):,} calls did not end as"
                f" recorded: {told}{more}"
            )
    if no_ceiling is not None:
        out.append(f"the ceiling on null storage is not known: {no_ceiling}; so the replayer may have been the limit")
    return tuple(out)
