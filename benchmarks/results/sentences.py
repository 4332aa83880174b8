"""Sentences of the page that are counted out of the packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.results import steps
from benchmarks.results.figures_table import replayed
from benchmarks.results.told import NOTHING, Told

_NO_RESULT = ("CACHED", "SHORT", "NOT STEADY", "LEAST LENGTH LOWERED")  # docs/labels.md


def labelled(storages: Sequence[Told]) -> str:
    """How many packages are no result of a storage, and why; those that are one by name."""
    packages = [(f"{one.title} {name}", result.labels) for one in storages for name, result in one.results.items()]
    counts = ((why, sum(_has(labels, why) for _, labels in packages)) for why in _NO_RESULT)
    said = ", ".join(f"{count} are `{why}`" for why, count in counts if count)
    results = [name for name, labels in packages if not any(_has(labels, why) for why in _NO_RESULT)]
    rest = f"Results of the storage as [labels.md](../../labels.md) has it are {', '.join(results) or 'none'}"
    return f"Of {len(packages)} packages {said}. **{rest}.**"


def _has(labels: Sequence[str], why: str) -> bool:
    return any(label.startswith(why) for label in labels)


def ours(storages: Sequence[Told]) -> str:
    """How often this host was the limit."""
    points = [point for one in storages for result in one.results.values() for point in result.points]
    limited = sum(point.limited for point in points)
    return f"GENERATOR-LIMITED, {limited} of {len(points)} points of all packages"


def data(storages: Sequence[Told]) -> str:
    """How much a discovery was of, and how long one lasted."""
    runs = _discoveries(storages)
    if not runs:
        return ""
    raw, found, items = ({run.result[key] for run in runs} for key in ("raw_bytes", "discovered_bytes", "items"))
    lengths = [run.elapsed_s for run in runs]
    return (
        f"A discovery is of {max(raw) / 1e6:.1f} MB ({max(items):,} items, {max(found) / 1e6:.1f} MB discovered) and lasted {min(lengths):.1f} –"
        f" {max(lengths):.1f} s; GB/hour is what that comes to\nin an hour. Two runs of the same point differ by up to {_apart(storages):.0%}."
    )


def control(storages: Sequence[Told]) -> str:
    """What the storage share is where there is no storage but memory: by so much it errs."""
    shares = [
        point.figures["storage_share"].median
        for one in storages
        if str(one.record["mount"]).startswith("tmpfs ")
        for name in (steps.CALIBRATION, steps.MOST)
        if name in one.results
        for point in one.results[name].points
        if "storage_share" in point.figures
    ]
    if not shares:
        return ""
    return (
        f"A tmpfs is this machine's memory, as null storage is: the share there, which ought to be none, came out as {min(shares):.0%} to"
        f" {max(shares):.0%}.\nBy so much a share of these few short runs errs, whatever stands in its row."
    )


def _discoveries(storages: Sequence[Told]) -> list[Any]:
    return [run for runs in _points(storages) for run in runs]


def _points(storages: Sequence[Told]) -> list[Sequence[Any]]:
    """The runs of each point of a discovery."""
    packages = (
        one.results[name] for one in storages for name in (steps.CALIBRATION, steps.MOST) if name in one.results
    )
    return [point.repeats for result in packages for point in result.points]


def _apart(storages: Sequence[Told]) -> float:
    lengths = [[run.elapsed_s for run in runs] for runs in _points(storages)]
    return max(max(some) / min(some) - 1 for some in lengths)


def repeats(storages: Sequence[Told]) -> str:
    """How many runs a figure is the median of, by test."""
    numbers: dict[str, set[int]] = {}
    for one in storages:
        for name, result in one.results.items():
            numbers.setdefault(name, set()).update(len(point.repeats) for point in result.points)
    tests: dict[str, list[str]] = {}
    for name, found in sorted(numbers.items()):
        tests.setdefault(" – ".join(str(n) for n in sorted({min(found), max(found)})), []).append(name)
    return "; ".join(f"{number} of {', '.join(names)}" for number, names in sorted(tests.items()))


def replays(storages: Sequence[Told]) -> str:
    """How far they were from the job that they foretold, and what of that is not the storage's: its pair beside the recorded job."""
    told = [one for one in storages if replayed(one) != NOTHING]
    if not told:
        return ""
    ratios = [float(replayed(one).rpartition(" ")[2]) for one in told]
    recorded = [one.results[steps.LOOP].recorded.elapsed_s for one in told]  # type: ignore[attr-defined]  # of a replay
    pairs = [pair for one in told if (pair := _pair_s(one)) is not None]
    beside = f": on null storage it took {min(pairs):.1f} – {max(pairs):.1f} s" if pairs else ""
    return (
        f"A replay thinks for as long as the recorded job thought, which took {max(recorded):.1f} s in all; what it foretells was"
        f" {min(ratios):.2f} – {max(ratios):.2f} of what the job\nthen took. As much as the job's own work took longer or shorter at that time"
        f" than at the recording is the processors' doing, and no replay can know it{beside}."
    )


def _pair_s(one: Told) -> float | None:
    """Of the job of one worker, on null storage."""
    point = one.point(steps.CALIBRATION, {"workers": 1})
    return None if point is None else point.repeats[0].null_elapsed_s


def took(storages: Sequence[Told]) -> str:
    """Minutes that the steps of each storage took."""
    each = ((one.title, sum(step["took_s"] for step in one.record["steps"]) / 60) for one in storages)
    return ", ".join(f"{title} {minutes:.0f}" for title, minutes in each)


def span(storages: Sequence[Told]) -> str:
    """Whether it was one command, as far as times tell."""
    all_of_them = [step for one in storages for step in one.record["steps"]]
    if not all_of_them:
        return ""
    begun, ended = (
        min(step["began"] for step in all_of_them),
        max(step["began"] + step["took_s"] for step in all_of_them),
    )
    return (
        f"Together these are {sum(step['took_s'] for step in all_of_them) / 60:,.0f}; from the beginning of the first to the end of the last\n"
        f"{(ended - begun) / 60:,.0f} minutes passed, with servers that came and went, and whatever lay before a step that was made again (`--resume`)."
    )
