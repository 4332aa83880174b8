"""Report R1's figures held against a study of its rows: what it says passes, what it does not say fails, each by itself."""

from __future__ import annotations

import dataclasses

import pytest
from r1_study import RATES, Filer, as_r1, everywhere, r1_point, r1_run, r1_study, rows_as_r1
from report_results import point, run

from experiments.workloads.discovery.r1.checks import checks, verdict, window_told
from experiments.workloads.discovery.r1.parameters import POINTS
from experiments.workloads.discovery.r1.seen import filer_ops
from experiments.workloads.discovery.result import Result

_PLATEAU = "plateau of the run, with one database and with two"
_LONGER = "plateau with two databases over that with one"
_FALLS = "filer ops/s fall after the peak"
_MIDDLE, _END = "filer ops/s in the middle, of the peak", "filer ops/s towards the end, of the peak"
_UNITS, _BUSIER = "metadata and data unit at the peak", "data unit busier than metadata at the end"
_ROWS = "rows/s of the database once primary discovery is done, of its peak"
_SHAPES = {_PLATEAU, _LONGER, _FALLS, _MIDDLE, _END, _BUSIER, _ROWS}


def _held(found: Result) -> dict[str, str]:
    return {check.what: verdict(check, found) for check in checks(found)}


def _ours(found: Result) -> dict[str, str]:
    return {check.what: check.ours for check in checks(found)}


def _flat(ops: float, metadata: float, data: float) -> Filer:
    return lambda at, elapsed: (ops, metadata, data)


def test_what_the_report_says_passes() -> None:
    """Every figure of it, and nothing is left unknown."""
    held = _held(r1_study())
    assert len(held) == 12
    assert set(held.values()) == {"pass"}


def test_each_check_can_fail() -> None:
    """A site on which nothing has its shape: no gain, no peak, a flat filer, a database that never rests."""
    nothing = everywhere(_flat(5_000.0, 0.3, 0.2), lambda at, elapsed: 900.0, gb_per_hour_discovered=12.0)
    held = _held(nothing)
    assert len(held) == 12
    assert set(held.values()) == {"FAIL"}


@pytest.mark.parametrize("ops", [20_000.0, 39_000.0, 60_000.0])
def test_a_flat_filer_has_no_shape(ops: float) -> None:
    """However high: what goes on to the end is no plateau, and its length that of the run (which two databases make longer by a third)."""
    held = _held(everywhere(_flat(ops, 0.99, 0.60), lambda at, elapsed: 900.0))
    assert {what for what, word in held.items() if word == "FAIL"} >= _SHAPES


@pytest.mark.parametrize(
    ("one", "two", "word"),
    [(4.0, 6.0, "pass"), (4.0, 5.2, "pass"), (4.0, 4.0, "FAIL"), (4.0, 8.0, "FAIL"), (4.0, 10.0, "FAIL")],
)
def test_no_longer_and_twice_as_long_are_not_what_the_report_says(one: float, two: float, word: str) -> None:
    """1.5 and 1.3 pass; 1, which is no effect, and 2, which is twice the work, do not."""
    rows = r1_point(1, 30, as_r1(1, 30, one)), r1_point(2, 30, as_r1(2, 30, two))
    held = _held(r1_study(r1_point(1, 10), *rows))
    assert held[_LONGER] == word
    assert held[_PLATEAU] == "pass"


def test_both_plateaus_are_those_of_the_reports_level() -> None:
    """A row that holds a lower peak for long has no plateau: one level for both, not each its own."""
    lower: Filer = lambda at, elapsed: (34_000.0, 0.9, 0.5) if at <= 5.5 else (17_000.0, 0.4, 0.3)  # noqa: E731
    held = _held(r1_study(r1_point(1, 10), r1_point(1, 30), r1_point(2, 30, lower)))
    assert (held[_PLATEAU], held[_LONGER]) == ("FAIL", "FAIL")


def test_a_plateau_comes_first_and_is_no_half_of_the_run() -> None:
    """Reached late, or held for most of the time, it is not R1's."""
    late: Filer = lambda at, elapsed: (39_000.0 if 10 < at <= 14 else 19_500.0, 0.5, 0.4)  # noqa: E731
    for filer in (late, as_r1(1, 30, 20.0)):
        held = _held(r1_study(r1_point(1, 10), r1_point(1, 30, filer), r1_point(2, 30)))
        assert (held[_PLATEAU], held[_LONGER]) == ("FAIL", "FAIL")


def test_order_is_one_thing_and_height_another() -> None:
    """A filer that idles after its peak falls twice, and not as far as R1's."""
    idle: Filer = lambda at, elapsed: (39_000.0 if at <= 3.5 else 4_500.0 if at < 0.75 * elapsed else 2_500.0, 0.9, 0.6)  # noqa: E731
    held = _held(r1_study(r1_point(1, 10), r1_point(1, 30, idle), r1_point(2, 30)))
    assert (held[_FALLS], held[_MIDDLE], held[_END]) == ("pass", "FAIL", "FAIL")


def test_of_two_idle_units_neither_is_busier() -> None:
    """4 % and 2 % are no load at which one could be."""
    shape = as_r1(1, 30)

    def idle(at: float, elapsed: float) -> tuple[float, float, float]:
        ops, metadata, data = shape(at, elapsed)
        return (ops, metadata, data) if at < 0.75 * elapsed else (ops, 0.02, 0.04)

    found = r1_study(r1_point(1, 10), r1_point(1, 30, idle), r1_point(2, 30))
    assert (_ours(found)[_BUSIER], _held(found)[_BUSIER]) == ("2% and 4%", "FAIL")


def test_units_are_those_of_the_peaks_own_time() -> None:
    """They were as busy as R1's for a tenth of the run, and not while the peak was."""
    shape = as_r1(1, 30)

    def elsewhere(at: float, elapsed: float) -> tuple[float, float, float]:
        ops, *_ = shape(at, elapsed)
        return (ops, 0.99, 0.60) if 15 < at <= 19 else (ops, 0.70, 0.40)

    found = r1_study(r1_point(1, 10), r1_point(1, 30, elsewhere), r1_point(2, 30))
    assert (_ours(found)[_UNITS], _held(found)[_UNITS]) == ("70% and 40%", "FAIL")


def test_a_burst_of_rows_is_no_peak_of_the_database() -> None:
    """One look at which rows of before are counted: 700 a second afterwards are no half of what was held."""

    def rows(at: float, elapsed: float) -> float:
        return 2_000.0 if at == 5.0 else 900.0 if at < elapsed / 3 else 700.0

    assert _held(everywhere(rows=rows))[_ROWS] == "FAIL"
    assert _held(everywhere(rows=rows_as_r1))[_ROWS] == "pass"


def test_the_tolerance_is_five_percent() -> None:
    """1.35 x passes up to 1.41, and not at 1.43."""
    for rate, word in ((1.40 * 11.69, "pass"), (1.43 * 11.69, "FAIL")):
        thirty = r1_point(1, 30, gb_per_hour_discovered=rate)
        assert _held(r1_study(r1_point(1, 10), thirty))["30 over 10 workers, GB/hour"] == word


def test_a_ratio_is_over_the_longest_jobs_time() -> None:
    """R1's is; from the first start to the last end two jobs of 40 s that began 10 s apart take 50."""
    two = r1_run(2, 30)
    jobs = [job | {"elapsed_s": 0.8 * two.elapsed_s} for job in two.result["jobs"]]
    apart = dataclasses.replace(two, result=two.result | {"jobs": jobs}, gb_per_hour_discovered=0.8 * RATES[2, 30])
    found = r1_study(r1_point(1, 10), r1_point(1, 30), point(30, databases=2, runs=[apart]))
    assert _ours(found)["two databases over one, GB/hour"] == "1.49 x"


def test_what_was_not_measured_is_not_known() -> None:
    """Without an emulated filer's series there is no peak to be right or wrong about."""
    points = [
        point(workers, databases=databases, runs=[run(workers, databases=databases, filer=False)])
        for databases, workers in POINTS
    ]
    held = _held(r1_study(*points))
    for what in ("peak with 30 workers, filer ops/s", _UNITS, _BUSIER, _FALLS, _MIDDLE, _ROWS, _PLATEAU, _LONGER):
        assert held[what] == "not known", what


def test_a_machine_that_did_not_keep_up_has_no_verdicts() -> None:
    """Neither good ones nor bad ones: its own speed is in every figure."""
    late = dataclasses.replace(r1_study(), labels=("EMULATION OVERRUN at 1 of 3 points",))
    assert set(_held(late).values()) == {"no verdict"}
    assert _ours(late) == _ours(r1_study()), "the figures stand there all the same"


def test_seconds_and_rates_are_the_sites() -> None:
    """What took twice as long here as there was twice as fast there, in half the seconds; ratios and shares are what they were."""
    slow = r1_study()
    slow.conditions["emulated_filer"] = {"numbers": {"site": {"time_scale": 2.0}}}
    assert "over 1.7 s" in window_told(r1_study())
    assert "over 0.9 s" in window_told(slow)
    assert filer_ops(r1_run(1, 30), 2.0).line()[0] == pytest.approx((0.25, 78_000.0))
    assert _ours(slow)[_MIDDLE] == _ours(r1_study())[_MIDDLE]
