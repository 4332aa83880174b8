"""Tests whether a run is long and steady enough to be called a result of the storage.

Even is what SNIA calls steady state (Solid State Storage Performance Test Specification 2.0.2, definition of Steady
State): over five rounds the largest and the smallest rate are within 20 % of the mean, and the line of least squares
through them changes by no more than 10 % of the mean. A round here is a fifth of what is judged: the interval without
its first and its last tenth, in which clients come and go. SNIA's rounds follow each other until five of them pass; a
run here ends when its work is done, so the five are all of it.

Limits: what swings within a round is not seen; the rule is a bound and no test, the interval of the drift is reported
next to it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from experiments.result.schema import Run, Steady

MIN_SECONDS = 600.0
ROUNDS = 5
MOST_SPREAD = 0.20  # of the mean, largest less smallest round
MOST_DRIFT = 0.10  # of the mean, along the line through the rounds
ENDS = 0.1  # of an interval at either end
LEAST_ROUND_S = 2.0  # shorter ones are a second or two of samples by the second
_T = 3.182  # Student's t for 95 % and ROUNDS − 2 degrees of freedom
RULE = (
    f"five rounds between the first and the last tenth of what is judged: within {MOST_SPREAD:.0%} of their mean, the line"
    f" through them within {MOST_DRIFT:.0%} (SNIA SSS PTS 2.0.2, steady state)"
)


BySecond = Sequence[tuple[float, float]]  # begin of a second since the run's start, how much in it; not named: nothing


def judged(what: str, per_second: BySecond, start: float, end: float, *, due: BySecond = ()) -> Steady | None:
    """Judge one interval of a run; return None if it is too short or nothing was done in it. `start`, `end`: seconds
    since the run's start; `due`: the requested load, if there was one: each round then counts by the share of it that
    was done, or a load that was meant to change would be called unsteady."""
    begin, length = start + ENDS * (end - start), (1 - 2 * ENDS) * (end - start)
    if length / ROUNDS < LEAST_ROUND_S:
        return None
    rates = _rounds(per_second, begin, length)
    mean = statistics.fmean(rates)
    if mean <= 0:
        return None
    if due:
        rates = [_share(done, asked) * mean for done, asked in zip(rates, _rounds(due, begin, length), strict=True)]
        mean = statistics.fmean(rates) or mean
    drift, error = _line(rates)
    spread, drift, error = (max(rates) - min(rates)) / mean, drift / mean, error / mean
    return Steady(
        what=what,
        start_s=round(begin, 3),
        seconds=round(length, 3),
        rate=statistics.fmean(_rounds(per_second, begin, length)),
        spread=spread,
        drift=drift,
        drift_low=drift - error,
        drift_high=drift + error,
        steady=spread <= MOST_SPREAD and abs(drift) <= MOST_DRIFT,
    )


def judged_whole(what: str, per_second: BySecond, elapsed_s: float, *, due: BySecond = ()) -> tuple[Steady, ...]:
    """Judge a whole run; return nothing if it cannot be judged."""
    one = judged(what, per_second, 0.0, elapsed_s, due=due)
    return () if one is None else (one,)


def by_second(amounts: Sequence[float]) -> BySecond:
    """Return amounts of consecutive seconds since the run's start with their seconds."""
    return [(float(second), float(amount)) for second, amount in enumerate(amounts)]


def _rounds(per_second: BySecond, begin: float, length: float) -> list[float]:
    """Return the rate of each round; a second that crosses a border counts to either side by its part."""
    each = length / ROUNDS
    rates = [0.0] * ROUNDS
    for second, amount in per_second:
        for number in range(ROUNDS):
            low, high = begin + number * each, begin + (number + 1) * each
            rates[number] += amount * max(0.0, min(second + 1, high) - max(second, low)) / each
    return rates


def _share(done: float, asked: float) -> float:
    """Return the share of the requested load that was done. Where nothing was requested, nothing can be late: work done
    then is arrears."""
    if asked:
        return done / asked
    return 2.0 if done else 1.0


def _line(rates: Sequence[float]) -> tuple[float, float]:
    """Return how much the line of least squares changes from the first round to the last, and half its 95 %
    interval."""
    places = range(len(rates))
    slope, base = statistics.linear_regression(places, rates)
    rest = sum((rate - base - slope * place) ** 2 for place, rate in zip(places, rates, strict=True))
    around = sum((place - statistics.fmean(places)) ** 2 for place in places)
    steps = len(rates) - 1
    return slope * steps, _T * math.sqrt(rest / (len(rates) - 2) / around) * steps


def unsteady(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return why a point was not steady, a line for each run and interval; empty if more than half of its runs were."""
    reasons = {
        run.repeat: [steady_text(one) for one in run.steady if not one.steady]
        if run.steady
        else ["no part of it is long enough to be judged"]
        for run in runs
    }
    if 2 * sum(bool(why) for why in reasons.values()) < len(runs):
        return ()
    return tuple(f"repeat {repeat + 1}, {reason}" for repeat, why in reasons.items() for reason in why)


def steady_text(one: Steady) -> str:
    """Return `index: spread 31 %, drift −24.0 % [−30.1 – −17.9]`."""
    drift = f"{one.drift:+.1%} [{one.drift_low:+.1%} – {one.drift_high:+.1%}]".replace("-", "\u2212")
    return f"{one.what}: spread {one.spread:.0%}, drift {drift}".replace("%", " %")
