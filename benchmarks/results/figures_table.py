"""The one table: a row for each quantity, a column for each storage. A cell that says nothing says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.results import steps
from benchmarks.results.told import NOTHING, Told
from experiments.result.schema import Point
from storage_tests.block_8k import bounded

_OURS = "°"  # the host was the limit: no verdict on the storage
BOUND_MS = 10  # of block-8k, case 6
Cell = Callable[[Told], str]


def rows() -> list[tuple[str, str, Cell]]:
    """Title, the step that a missing figure is explained by, and the cell."""
    out: list[tuple[str, str, Cell]] = []
    for workers in (1, 2, 4):
        package = steps.MOST if workers == 4 else steps.CALIBRATION
        title = f"discovery, {workers} worker{'s' * (workers > 1)}: GB/hour discovered (storage share)"
        out.append((title, package, _discovery(package, workers)))
    out += [
        ("predicted for 1 worker by the replay of ext4's trace ÷ measured", steps.LOOP, replayed),
        ("the same job's calls in closed loop: seconds, by clients", steps.LOOP, _loop),
        (f"knee ({steps.BOUNDS} p99): clients, calls/s there", steps.KNEE, _knee),
        ("empty files created/s, by clients", steps.EMPTY, _empty),
        ("8 KiB at random, 60 % reads, 16 outstanding: IOPS", steps.BLOCK, _block),
        (f"IOPS of the largest load that keeps a mean of {BOUND_MS} ms", steps.BLOCK, _search),
        ("insertion, 8 clients, one directory: files/s, drift (p)", steps.DRIFT, _drift),
        ("client sweep, written: MB/s, by clients", steps.SWEEP, _sweep("write")),
        ("client sweep, read: MB/s, by clients", steps.SWEEP, _sweep("read")),
        ("matrix: most MB/s written, read", steps.MATRIX, _matrix),
    ]
    return out


def table(storages: Sequence[Told]) -> list[str]:
    """Markdown."""
    lines = [f"| | {' | '.join(one.title for one in storages)} |", "|---|" + "---|" * len(storages)]
    notes: dict[str, str] = {}
    for title, step, cell in rows():
        cells = []
        for one in storages:
            said = cell(one)
            if said == NOTHING and (why := one.why_not(step)):
                said = f"{NOTHING} {notes.setdefault(why, f'({len(notes) + 1})')}"
            cells.append(said)
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += ["", f"{_OURS}: GENERATOR-LIMITED, this host's figure and no verdict on the storage."]
    return [*lines, *(f"{mark} {_plain(why)}." for why, mark in notes.items())]


def _plain(why: str) -> str:
    return why.replace("|", "\\|").rstrip(".")


def marked(point: Point, said: str) -> str:
    """With the sign of one that this host limited."""
    return f"{said}{_OURS}" if point.limited else said


def number(value: float) -> str:
    """Three figures or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


def _discovery(package: str, workers: int) -> Cell:
    def cell(one: Told) -> str:
        point = one.point(package, {"workers": workers})
        if point is None:
            return NOTHING
        share = point.figures.get("storage_share")
        said = number(point.figures["gb_per_hour_discovered"].median)
        return marked(point, said) + (f" ({share.median * 100:.0f} %)" if share else " (no pair)")

    return cell


def replayed(one: Told) -> str:
    """How long the replay took with the job's think times, made before the job was."""
    said, took = (one.figure(steps.LOOP, {"clients": 1}, "elapsed_s"),
                  one.figure(steps.CALIBRATION, {"workers": 1}, "elapsed_s"))  # fmt: skip
    if said is None or took is None or _begun(one, steps.LOOP) > _begun(one, steps.CALIBRATION):
        return NOTHING
    return f"{said:.1f} s ÷ {took:.1f} s = {said / took:.2f}"


def _begun(one: Told, package: str) -> float:
    """Of its first run: what was told after it was no prediction, such as of a step that was tried again."""
    return min(run.started_at for point in one.results[package].points for run in point.repeats)


def _loop(one: Told) -> str:
    return _by_clients(one, steps.LOOP, "elapsed_s", lambda seconds: f"{seconds:.1f}")


def _by_clients(one: Told, package: str, figure: str, write: Callable[[float], str] = number) -> str:
    """A figure under each number of clients that there was."""
    result = one.results.get(package)
    points = [point for point in (result.points if result else ()) if figure in point.figures]
    said = {int(point.at.values()["clients"]): marked(point, write(point.figures[figure].median)) for point in points}
    return ", ".join(f"{clients}: {said[clients]}" for clients in sorted(said)) or NOTHING


def _knee(one: Told) -> str:
    """Where no bound was broken there is none, and the most clients that were tried are all that is known."""
    result = one.results.get(steps.KNEE)
    if result is None or result.knee is None:
        return NOTHING
    knee, peak = result.knee.knee, f"the most at {_at(result.points[result.knee.peak])}"
    if result.knee.broken is None:
        return f"none up to {result.points[-1].at.values()['clients']} clients: no bound was broken; {peak}"
    if knee is None:
        return f"none: {result.knee.broken}; {peak}"
    return f"{_at(result.points[knee])}; {result.knee.broken}"


def _at(point: Point) -> str:
    return marked(point, f"{point.at.values()['clients']}, {number(point.figures['calls_per_second'].median)}")


def _empty(one: Told) -> str:
    return _by_clients(one, steps.EMPTY, "files_per_s")


def _block(one: Told) -> str:
    point = one.point(steps.BLOCK, {"case": 1})
    return NOTHING if point is None else marked(point, number(point.figures["iops"].median))


def _search(one: Told) -> str:
    """As its own report has it; the search may have ended before the bound: then more was not tried."""
    result = one.results.get(steps.BLOCK)
    points: Sequence[Any] = [] if result is None else result.points
    if not points:
        return NOTHING
    best = bounded(points, BOUND_MS)
    if best is None:
        return f"no load keeps {BOUND_MS} ms"
    mean = best.figures["mean_us"].median / 1000
    said = (
        f"{number(best.figures['iops'].median)} with {best.at.outstanding} on each of 4, which took {number(mean)} ms"
    )
    most = max(point.at.outstanding for point in points if point.at.case == 6)
    return marked(best, said) + ("" if best.at.outstanding < most else ", and no more were tried")


def _drift(one: Told) -> str:
    """Of trend and change what is less likely by chance."""
    best = one.best(steps.DRIFT)
    if best is None:
        return NOTHING
    run = best.repeats[0]
    rate = f"{marked(best, number(best.figures['files_per_s'].median))} over {run.files:,}"  # type: ignore[attr-defined]  # of an insertion
    drift = run.rate_drift  # type: ignore[attr-defined]
    if drift is None:
        return f"{rate}: too few groups"
    kinds = (("trend", drift.trend, drift.trend_p), ("change", drift.change, drift.change_p))
    kind, share, p = min(kinds, key=lambda found: found[2])
    chance = f"p {p:.3f}" if p >= 0.001 else "p < 0.001"
    return f"{rate}: {'DRIFT' if drift.found else 'no drift shown'} ({kind} {share:+.0%}, {chance})"


def _sweep(way: str) -> Cell:
    return lambda one: _by_clients(one, steps.SWEEP, f"{way}_aggregate_mb_s")


def _matrix(one: Told) -> str:
    result = one.results.get(steps.MATRIX)
    if result is None:
        return NOTHING
    out = []
    for figure in ("write_mb_per_s", "read_mb_per_s"):
        best = max(
            (p for p in result.points if figure in p.figures), key=lambda p: p.figures[figure].median, default=None
        )
        out.append(NOTHING if best is None else marked(best, number(best.figures[figure].median)))
    return ", ".join(out)
