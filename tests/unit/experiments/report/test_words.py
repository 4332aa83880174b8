"""Numbers as the report writes them."""

import pytest

from experiments.report import words
from experiments.report.plots import thinned
from experiments.report.views import binned, rates, spread, stage_means, summed_rates


@pytest.mark.parametrize(
    ("value", "written"),
    [(7.25, "7.2 s"), (0.84, "0.84 s"), (59.94, "59.9 s"), (75, "1:15 min"), (17136, "4:45:36"), (0, "0 s")],
)
def test_seconds(value: float, written: str) -> None:
    """R1's elapsed times come out as R1 prints them; short ones in seconds."""
    assert words.seconds(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (15.76, "15.8"),
        (12345.6, "12,346"),
        (0.0042, "0.00420"),
        (0.09999999, "0.100"),
        (-0.5, "−0.500"),
        (0, "0"),
        (float("nan"), "–"),
    ],
)
def test_figure(value: float, written: str) -> None:
    assert words.figure(value) == written


def test_units() -> None:
    """The unit follows the size; 1 GB is 10⁹ bytes."""
    assert [words.microseconds(v) for v in (9.5, 850, 20300, 1.5e6)] == ["9.50 µs", "850 µs", "20.3 ms", "1.50 s"]
    assert [words.size(v) for v in (12, 90e6, 45e9, 2e12)] == ["12 B", "90.0 MB", "45.0 GB", "2.00 TB"]
    assert [words.percent(v) for v in (0, 0.025, 0.513)] == ["0 %", "2.5 %", "51 %"]
    assert [words.listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert (words.many(1, "database"), words.many(1200, "worker")) == ("1 database", "1,200 workers")


def test_bins_keep_the_sum_and_count_silence_as_zero() -> None:
    """A long run's line is averaged, not thinned: no call is lost and quiet seconds pull it down."""
    samples = [(float(s), 10.0) for s in range(0, 1000, 2)]
    line, step = binned(samples, most=300)
    assert (step, len(line)) == (4, 250)
    assert sum(value * step for _, value in line) == 5000
    assert binned([(0.0, 3.0), (1.0, 5.0)]) == ([(0.5, 3.0), (1.5, 5.0)], 1)
    assert binned([]) == ([], 1)


def test_rates_divide_by_the_time_since_the_sample_before() -> None:
    """Samples that came late must not look like peaks, and nor may the first, whose interval is unknown."""
    assert rates([(1.0, 10.0), (3.0, 40.0), (3.0, 7.0)]) == [(3.0, 20.0)]


def test_summed_rates_are_of_what_holds_at_a_moment() -> None:
    """Databases are sampled one after the other, and that must not show; one that has ended adds nothing later."""
    one, other = [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)], [(1.01, 1.0), (2.01, 2.0)]
    assert summed_rates([one, other]) == [(1.0, 11.0), (2.0, 22.0), (3.0, 32.0)]
    assert summed_rates([one, other[:1], []]) == [(1.0, 11.0), (2.0, 21.0), (3.0, 30.0)]
    assert summed_rates([]) == []


def test_stage_means_cut_the_elapsed_time_in_three() -> None:
    assert stage_means([(0, 1.0), (1, 3.0), (9, 8.0)], 9) == [2.0, None, 8.0]


def test_long_lines_are_thinned_to_means() -> None:
    """A day's samples must not make the page megabytes, and their mean stays what it was."""
    line = thinned([(float(s), float(s % 2)) for s in range(86_400)], most=600)
    assert len(line) == 600
    assert {value for _, value in line} == {0.5}
    assert thinned([(1.0, 2.0), (2.0, 4.0)]) == [(1.0, 2.0), (2.0, 4.0)]
    assert thinned([]) == []


def test_spread_keeps_both_ends() -> None:
    assert spread(list(range(20)), 6)[0] == 0  # type: ignore[arg-type]
    assert spread(list(range(20)), 6)[-1] == 19  # type: ignore[arg-type]
    assert spread([1, 2], 6) == [1, 2]  # type: ignore[list-item]


def test_lines_that_differ_in_the_repeat_are_one() -> None:
    lines = ["a", "NOT STEADY at 1 worker: repeat 1, too short", "NOT STEADY at 1 worker: repeat 3, too short",
             "NOT STEADY at 1 worker: repeat 2, spread 30 %", "NOT STEADY at 2 workers: repeat 1, too short", "b: repeat"]  # fmt: skip
    assert words.gathered(lines) == [
        "a", "NOT STEADY at 1 worker: repeats 1 and 3, too short", "NOT STEADY at 1 worker: repeat 2, spread 30 %",
        "NOT STEADY at 2 workers: repeat 1, too short", "b: repeat",
    ]  # fmt: skip
