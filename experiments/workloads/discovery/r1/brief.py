"""What `experiment r1 --brief` says below its tables, in a few lines: R1's two ratios, the other figures, what the machine did."""

from __future__ import annotations

from collections.abc import Sequence

from controller.labels.rules import OVERRUN, UNJUDGED
from core.filer.load import SITE
from experiments.overrun import overran
from experiments.workloads.discovery.r1.checks import Check, without_verdict
from experiments.workloads.discovery.r1.pace import larger_scale
from experiments.workloads.discovery.r1.seen import numbers_of, time_scale
from experiments.workloads.discovery.result import Result

_RATIO = ", GB/hour"  # how the checks of R1's two ratios end


def brief(result: Result, found: Sequence[Check], times: int) -> list[str]:
    """Lines for people; `times`: the data is one part in so many of R1's. A ratio that does not hold is said first, with why
    so small a run may miss it. Where this machine did not keep up nothing is said to hold or not."""
    if without_verdict(result):
        return [_why_none(result), *speed_told(result)]
    ratios = [one for one in found if one.what.endswith(_RATIO)]
    others = [one for one in found if one not in ratios and one.passed is not None]
    runs = min(len(point.repeats) for point in result.points)
    size = f"1/{times} of its data, {runs} run{'s' if runs > 1 else ''} of each row"
    missed = [one for one in ratios if not one.passed]
    if missed:
        lines = [
            f"R1's ratios are NOT reproduced here ({size}): {_listed(missed)}. A run this short is bound by its largest mail store and"
            " by its tasks; `edbench bench r1` uses more data and five runs, see docs/dev/site.md for its result."
        ]
    else:
        lines = [f"R1's ratios are reproduced here ({size}): {_listed(ratios)}."]
    held = sum(bool(one.passed) for one in others)
    failed = f"; not: {', '.join(one.what for one in others if not one.passed)}" if held < len(others) else ""
    return [*lines, f"Of the report's other figures {held} of {len(others)} hold{failed}.", *speed_told(result)]


def _why_none(result: Result) -> str:
    if any(label.startswith(UNJUDGED) for label in result.labels):
        return f"{UNJUDGED}: it was not measured whether this machine kept up, so these figures prove nothing."
    return f"{OVERRUN}: this machine did not keep up, so its own speed is in these figures and they prove nothing."


def speed_told(result: Result) -> list[str]:
    """How fast this machine's processors were in the runs: each of their seconds was booked for so much less or more."""
    runs = (result.conditions.get("emulated_filer") or {}).get("machine_speed") or []
    if not runs:
        return []
    lowest, highest = min(run["lowest"] for run in runs), max(run["highest"] for run in runs)
    told = f"This machine's cores had {lowest:.2f} to {highest:.2f} of the speed that the site assumes."
    return [told, *_scale_to_say(result)]


def _scale_to_say(result: Result) -> list[str]:
    over = [run for point in result.points for run in point.repeats if overran(run)]
    if not over:
        return []
    scale, busy = time_scale(result), max(run.host_cpu or 0.0 for run in over)
    larger, source = larger_scale(scale, busy), str(numbers_of(result).get("source", SITE))
    # A file says its scale itself, and another one is refused beside it.
    ask = f"say --time-scale {larger:.1f}" if source.startswith(SITE) else f"set time_scale = {larger:.1f} in {source}"
    return [
        f"At time x {scale:g} they were busy for {busy:.0%} in a run that this machine did not keep up with: {ask}, with nothing"
        " else on it."
    ]


def _listed(ratios: Sequence[Check]) -> str:
    return ", ".join(f"{one.what.removesuffix(_RATIO)} {one.ours} (R1 {one.r1})" for one in ratios)
