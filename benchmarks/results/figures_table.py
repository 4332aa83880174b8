"""The one table: a row for each quantity, a column for each storage. A cell that says nothing says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.results import steps
from benchmarks.results.told import NOTHING, Told
from experiments.result.schema import Point

_OURS = "°"  # the host was the limit: no verdict on the storage
_MIB = 1 << 20
Cell = Callable[[Told], str]


def rows() -> list[tuple[str, str, Cell]]:
    """Title, the step that a missing figure is explained by, and the cell."""
    out: list[tuple[str, str, Cell]] = []
    for workers in (1, 2, 4):
        package = steps.MOST if workers == 4 else steps.CALIBRATION
        title = f"discovery, {workers} worker{'s' * (workers > 1)}: GB/hour discovered (storage share)"
        out.append((title, package, _discovery(package, workers)))
    out += [
        ("predicted for 4 workers by the model from 1 and 2 ÷ measured", "prediction", predicted),
        ("predicted for 1 worker by the replay of ext4's trace ÷ measured", steps.LOOP, replayed),
        ("the same job's calls in closed loop: seconds with 1, 2, 4 … clients", steps.LOOP, _loop),
        (f"knee ({steps.BOUNDS} p99): clients, calls/s there", steps.KNEE, _knee),
        ("empty files created/s: 1 client, 8 clients", steps.EMPTY, _empty),
        ("8 KiB at random, 60 % reads, 16 outstanding: IOPS", steps.BLOCK, _block),
        ("the most IOPS with a mean of at most 10 ms", steps.BLOCK, _search),
        ("insertion, 8 clients, one directory: files/s, drift", steps.DRIFT, _drift),
        ("client sweep, written: MB/s with each number of clients", steps.SWEEP, _sweep("write")),
        ("client sweep, read: MB/s", steps.SWEEP, _sweep("read")),
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


def predicted(one: Told) -> str:
    """What the model said of four workers before they ran."""
    told, measured = one.record.get("prediction"), one.figure(steps.MOST, {"workers": 4}, "gb_per_hour_discovered")
    if not told or measured is None or told["written"] > _begun(one, steps.MOST):
        return NOTHING
    said = next(point for point in told["document"]["points"] if point["workers"] == 4)
    value = float(said["gb_per_hour_discovered"])
    low, high = said["gb_per_hour_discovered_interval"]
    inside = "" if low <= measured <= high else ", outside its interval"
    return f"{number(value)} ÷ {number(measured)} = {value / measured:.2f}{inside}"


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
    result = one.results.get(steps.LOOP)
    if result is None:
        return NOTHING
    points = sorted(result.points, key=lambda point: point.at.values()["clients"])
    return ", ".join(marked(point, f"{point.figures['elapsed_s'].median:.1f}") for point in points)


def _knee(one: Told) -> str:
    result = one.results.get(steps.KNEE)
    if result is None or result.knee is None:
        return NOTHING
    knee, peak = result.knee.knee, result.points[result.knee.peak]
    broken = f"; {result.knee.broken}" if result.knee.broken else "; no bound was broken"
    most = f"peak {_at(peak)}"
    if knee is None:
        return f"none: {result.knee.broken}; {most}"
    return f"{_at(result.points[knee])}{broken}"


def _at(point: Point) -> str:
    return marked(point, f"{point.at.values()['clients']}, {number(point.figures['calls_per_second'].median)}")


def _empty(one: Told) -> str:
    return _several(one, steps.EMPTY, "clients", "files_per_s")


def _several(one: Told, package: str, axis: str, figure: str) -> str:
    result = one.results.get(package)
    points = () if result is None else sorted(result.points, key=lambda point: point.at.values()[axis])
    return ", ".join(marked(p, number(p.figures[figure].median)) for p in points if figure in p.figures) or NOTHING


def _block(one: Told) -> str:
    point = one.point(steps.BLOCK, {"case": 1})
    return NOTHING if point is None else marked(point, number(point.figures["iops"].median))


def _search(one: Told) -> str:
    result = one.results.get(steps.BLOCK)
    within = [
        p
        for p in (result.points if result else ())
        if p.at.values()["case"] == 6 and p.figures["mean_us"].median <= 10_000
    ]
    if not within:
        return NOTHING
    best = max(within, key=lambda point: point.figures["iops"].median)
    said = f"{number(best.figures['iops'].median)} with {best.at.values()['outstanding']} on each of 4"
    return marked(best, said)


def _drift(one: Told) -> str:
    best = one.best(steps.DRIFT)
    if best is None:
        return NOTHING
    run = best.repeats[0]
    drift = run.rate_drift  # type: ignore[attr-defined]  # of an insertion
    said = "too few groups" if drift is None else "DRIFT" if drift.found else "no drift"
    trend = "" if drift is None else f" ({drift.trend:+.0%})"
    files = run.files  # type: ignore[attr-defined]
    return f"{marked(best, number(best.figures['files_per_s'].median))} over {files:,}: {said}{trend}"


def _sweep(way: str) -> Cell:
    return lambda one: _several(one, steps.SWEEP, "clients", f"{way}_aggregate_mb_s")


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
