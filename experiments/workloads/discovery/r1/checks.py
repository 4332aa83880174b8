"""What report R1 says, held against a study of its three rows, each with its tolerance (decision 70)."""

from __future__ import annotations

from dataclasses import dataclass

from controller.labels.rules import OVERRUN, UNJUDGED
from experiments.workloads.discovery.r1.seen import Row, row, window_s
from experiments.workloads.discovery.result import Point, Result
from experiments.workloads.discovery.views import over_longest_job

_PEAK = 39_000.0  # R1's, with 30 workers on one database and on two
_NEAR = 0.9  # of that: from there on a rate counts as the plateau's, in both rows alike
_PLATEAU = 1.5  # 45 minutes with two databases, 30 with one
_PLATEAU_WITHIN = 0.20  # 1.2 to 1.8: neither as long (1), nor as twice the work would have it (2)
_MOST_OF_RUN = 0.5  # R1's plateaus are a tenth of its runs; what goes on for longer is how all of it goes
_MIDDLE, _END = 20_000 / _PEAK, 10_000 / _PEAK
_HEIGHT_WITHIN = 0.5
_AT_WORK = 0.20  # of the data unit at the least: R1's is busier at 18,000 op/s, and one of two idle ones is, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure of the report."""

    what: str
    r1: str
    ours: str
    tolerance: str
    passed: bool | None  # None: this result has not what it takes


def checks(result: Result) -> list[Check]:
    """In the order of the report; of the median run of each point where it is about a course in time."""
    at = {(point.databases, point.workers): point for point in result.points}
    ten, thirty, two = at.get((1, 10)), at.get((1, 30)), at.get((2, 30))
    found: list[Check] = []
    if ten and thirty:
        found.append(_ratio("30 over 10 workers, GB/hour", 1.35, thirty, ten))
    if thirty and two:
        found.append(_ratio("two databases over one, GB/hour", 1.49, two, thirty))
    for point, peak in ((ten, 27_000.0), (thirty, _PEAK)):
        if point:
            found.append(_peak(row(point, result), peak))
    if thirty:
        one = row(thirty, result)
        found += [*_falls(one), _at_the_peak(one), _at_the_end(one), _database(one)]
    if thirty and two:
        found += _plateaus(row(thirty, result), row(two, result))
    return found


def verdict(check: Check, result: Result) -> str:
    """Of one check, in a word: none where this machine did not keep up, its own speed being in the figures."""
    if without_verdict(result):
        return "no verdict"
    return "not known" if check.passed is None else "pass" if check.passed else "FAIL"


def without_verdict(result: Result) -> bool:
    """Whether this machine was too slow in a run, or nobody measured it."""
    return any(label.startswith((OVERRUN, UNJUDGED)) for label in result.labels)


def window_told(result: Result) -> str:
    """How peaks and plateaus are found, and in which seconds."""
    return (
        f"Seconds of these checks are the site's. A peak is the highest mean over {window_s(result):.1f} s, a twentieth of the shortest row, the same for all rows;"
        f" a plateau is what of the run, from the start and without a break, has that mean at {_NEAR:.0%} of R1's {_PEAK:,.0f} filer ops/s or more."
    )


def _ratio(what: str, r1: float, above: Point, below: Point) -> Check:
    (_, high), (_, low) = (over_longest_job(point) for point in (above, below))
    ours = high.median / low.median if low.median else 0.0
    return Check(
        what=what, r1=f"{r1:.2f} x", ours=f"{ours:.2f} x", tolerance="within 5 %", passed=abs(ours / r1 - 1) <= 0.05
    )


def _peak(ours: Row, r1: float) -> Check:
    peak, _ = ours.ops.highest(ours.window_s)
    return Check(
        what=f"peak with {ours.workers} workers, filer ops/s",
        r1=f"about {r1:,.0f}",
        ours=f"{peak:,.0f}" if ours.ops else "not known",
        tolerance="within 10 %",
        passed=abs(peak / r1 - 1) <= 0.10 if ours.ops else None,
    )


def _falls(ours: Row) -> list[Check]:
    """Their order, and how far: by order alone a filer that idles after its peak would do as R1's did."""
    peak, _ = ours.ops.highest(ours.window_s)
    later = [ours.ops.mean(ours.elapsed_s * a, ours.elapsed_s * b) for a, b in ((0.4, 0.6), (0.8, 1.0))]
    order = Check(
        what="filer ops/s fall after the peak",
        r1="twice",
        ours=f"{peak:,.0f}, {later[0]:,.0f}, {later[1]:,.0f}" if ours.ops else "not known",
        tolerance="in this order",
        passed=round(peak) > round(later[0]) > round(later[1]) if ours.ops else None,  # as they are printed
    )
    heights = (("in the middle", "20,000", _MIDDLE, later[0]), ("towards the end", "10,000", _END, later[1]))
    return [order, *(_height(ours, when, said, r1, rate / peak if peak else 0.0) for when, said, r1, rate in heights)]


def _height(of: Row, when: str, said: str, r1: float, ours: float) -> Check:
    return Check(
        what=f"filer ops/s {when}, of the peak",
        r1=f"{r1:.2f} ({said} of {_PEAK:,.0f})",
        ours=f"{ours:.2f}" if of.ops else "not known",
        tolerance="within a half of it",
        passed=abs(ours / r1 - 1) <= _HEIGHT_WITHIN if of.ops else None,
    )


def _at_the_peak(ours: Row) -> Check:
    """Over the window in which the ops were at theirs: the busiest seconds of the units themselves are others, and bursts."""
    _, begin = ours.ops.highest(ours.window_s)
    units = _units(ours, begin, begin + ours.window_s)
    return Check(
        what="metadata and data unit at the peak",
        r1="99 and 60 %",
        ours=_percents(units),
        tolerance="within 10 points",
        passed=None if units is None else abs(units[0] - 0.99) <= 0.10 and abs(units[1] - 0.60) <= 0.10,
    )


def _at_the_end(ours: Row) -> Check:
    units = _units(ours, 0.8 * ours.elapsed_s, 0.98 * ours.elapsed_s)
    return Check(
        what="data unit busier than metadata at the end",
        r1="yes, at 18,000 op/s",
        ours=_percents(units),
        tolerance=f"yes, and at {_AT_WORK:.0%} or more",
        passed=None if units is None else units[1] > units[0] and units[1] >= _AT_WORK,
    )


def _units(ours: Row, begin: float, end: float) -> tuple[float, float] | None:
    if not (ours.ops and ours.metadata and ours.data):
        return None
    return ours.metadata.mean(begin, end), ours.data.mean(begin, end)


def _percents(units: tuple[float, float] | None) -> str:
    return "not known" if units is None else f"{units[0]:.0%} and {units[1]:.0%}"


def _database(ours: Row) -> Check:
    peak, _ = ours.rows.highest(ours.window_s)
    later = 0.0 if ours.index_s is None else ours.rows.mean(ours.index_s, ours.elapsed_s)
    known = peak > 0 and ours.index_s is not None
    return Check(
        what="rows/s of the database once primary discovery is done, of its peak",
        r1="falls sharply, stays low",
        ours=f"{later / peak:.0%}" if known else "not known",
        tolerance="at most half",
        passed=later / peak <= 0.5 if known else None,
    )


def _plateaus(one: Row, two: Row) -> list[Check]:
    rows = (one, two)
    known = all(of.ops for of in rows)
    lengths = [of.ops.held(_NEAR * _PEAK, of.window_s) for of in rows]
    shares = [length / of.elapsed_s for length, of in zip(lengths, rows, strict=True)]
    there = all(0 < share < _MOST_OF_RUN for share in shares)
    ratio = lengths[1] / lengths[0] if lengths[0] else 0.0
    seconds = f"{lengths[1]:.1f} and {lengths[0]:.1f} s"
    return [
        Check(
            what="plateau of the run, with one database and with two", r1="10.5 and 11.8 %",
            ours=f"{shares[0]:.1%} and {shares[1]:.1%}" if known else "not known",
            tolerance=f"from the start, under {_MOST_OF_RUN:.0%}", passed=there if known else None,
        ),
        Check(
            what="plateau with two databases over that with one", r1=f"{_PLATEAU:g} x (45 and 30 min)",
            ours=f"{ratio:.1f} x ({seconds})" if known else "not known", tolerance=f"within {_PLATEAU_WITHIN:.0%}",
            passed=there and abs(ratio / _PLATEAU - 1) <= _PLATEAU_WITHIN if known else None,
        ),
    ]  # fmt: skip
