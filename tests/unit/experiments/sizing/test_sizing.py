"""What `edbench bench plan` says keeps the rules that results are judged by, and what it refuses cannot be done."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.labels.rules import is_cached
from core.errors import UsageError
from dataset_gen.profile import load_profile
from experiments.orders import DEFAULT_REPEATS
from experiments.result.statistics import LEAST_REPEATS
from experiments.result.steady import MIN_SECONDS
from experiments.sizing import MISSED, PROFILE, Rate, Rates, Sizing, Wish, ranges, refuse_room, rounded_up, size_study

REFERENCE = load_profile(PROFILE)
GB = 10**9
memory = st.integers(0, 2_000 * GB)
hours = st.floats(0.2, 5_000)


def a_rate(workers: int, gb_per_hour: float, *, cpu: float = 0.3, null: float | None = 0.5) -> Rate:
    return Rate(workers=workers, gb_per_hour=gb_per_hour, cpu=cpu, null_share=null)


def some_rates(*measured: Rate, processors: int = 8) -> Rates:
    return Rates(
        source="r",
        labels=(),
        slots=4,
        processors=processors,
        measured=measured or (a_rate(1, 100.0), a_rate(8, 500.0)),
        raw_bytes=180_000_000,
        discovered_bytes=300_000_000,
        index_bytes=60_000_000,
        store_bytes=20_000_000,
        copy_s=1.0,
        write_s=2.0,
        remove_s=0.3,
        around_s=5.0,
    )


def planned(wish: Wish, rates: Rates) -> Sizing | str:
    try:
        return size_study(wish, rates, REFERENCE)
    except UsageError as error:
        return str(error)


@given(
    memory,
    memory,
    hours,
    st.sampled_from([some_rates(), some_rates(a_rate(1, 5.0)), some_rates(a_rate(2, 9_000.0, cpu=0.9))]),
)
def test_what_is_planned_will_be_neither_cached_nor_short_and_over_in_time(
    client: int, cache: int, there: float, rates: Rates
) -> None:
    found = planned(Wish(client_memory=client, filer_cache=cache, hours=there), rates)
    if isinstance(found, str):
        assert found.startswith(f"--hours {there:g} is too short: ")
        assert "\n" not in found
        return
    least_found = found.raw_bytes * REFERENCE.targets.expansion * (1 - MISSED)
    assert not is_cached(least_found * (1 + 1e-9), client + cache)
    for number in found.workers:
        assert least_found / GB / rates.most(number) * 3600 >= MIN_SECONDS
    assert found.shortest_s >= MIN_SECONDS
    assert found.wish.repeats >= LEAST_REPEATS
    assert len(found.workers) >= 2
    assert found.seconds <= there * 3600


@pytest.mark.parametrize("there", [1.0, 4.0, 40.0])
def test_a_refusal_states_what_would_do(there: float) -> None:
    wish = Wish(client_memory=128 * GB, filer_cache=32 * GB, hours=there, workers=(1, 8), repeats=5)
    shown = planned(wish, some_rates())
    assert isinstance(shown, str)
    more = re.search(r"use --hours ([0-9.]+)", shown)
    assert float(more[1]) > there
    for changed in (float(more[1]), float(more[1]) * 1.001):
        assert isinstance(planned(replace(wish, hours=changed), some_rates()), Sizing)


def test_more_time_is_taken_for_more_workers() -> None:
    wish = {"client_memory": 16 * GB, "filer_cache": 0}
    full = planned(Wish(**wish, hours=500.0), some_rates())
    assert (full.workers, full.wish.repeats) == ((1, 2, 4, 8), DEFAULT_REPEATS)
    tighter = planned(Wish(**wish, hours=full.seconds / 3600), some_rates())
    assert tighter.workers in {(2, 4, 8), (4, 8)}


@given(
    st.lists(
        st.tuples(st.integers(1, 64), st.floats(1, 1e4), st.floats(0.01, 1)),
        min_size=1,
        max_size=4,
        unique_by=lambda one: one[0],
    ),
    st.integers(1, 512),
)
def test_the_least_rate_is_never_above_the_most(points: list[tuple[int, float, float]], workers: int) -> None:
    rates = some_rates(*(a_rate(number, rate, cpu=cpu) for number, rate, cpu in sorted(points)))
    assert rates.least(workers) <= rates.most(workers)
    for rate in rates.measured:
        assert rates.least(rate.workers) == pytest.approx(rate.gb_per_hour)
        assert rates.most(rate.workers) >= rate.gb_per_hour * (1 - 1e-12)


def test_rates_that_were_not_measured_are_bounded_by_those_that_were() -> None:
    """No faster than in proportion, and than all processors allow; no slower than the line, or the last."""
    rates = some_rates(a_rate(2, 100.0, cpu=0.2), a_rate(4, 160.0, cpu=0.4))
    assert rates.least(1) == 50.0
    assert rates.least(3) == 130.0
    assert rates.least(64) == 160.0
    assert rates.most(5) == 200.0
    assert rates.most(64) == 400.0


def test_what_makes_a_pair_impossible_is_reported_before() -> None:
    plain = planned(Wish(client_memory=64 * GB, filer_cache=0, hours=9_999.0), some_rates())
    assert plain.notes == ()
    much = planned(Wish(client_memory=8 * GB, filer_cache=512 * GB, hours=9_999.0), some_rates())
    assert any(note.startswith("NO BASELINE") for note in much.notes)
    none = planned(Wish(client_memory=64 * GB, filer_cache=0, hours=9_999.0), some_rates(a_rate(1, 100.0, null=None)))
    assert any(note.startswith("NO BASELINE") for note in none.notes)
    assert not any("null storage" in part.what for part in none.parts)


def test_too_little_room_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    sizing = planned(Wish(client_memory=900_000 * GB, filer_cache=0, hours=1e9), some_rates())
    assert isinstance(sizing, Sizing)
    with pytest.raises(UsageError, match="there: free space"):
        refuse_room(sizing, tmp_path)
    refuse_room(sizing, tmp_path / "later")


def test_ranges_and_scales() -> None:
    assert ranges(1) == [(1, 2)]
    assert ranges(12) == [(1, 2, 4, 8), (2, 4, 8), (4, 8)]
    assert [rounded_up(value) for value in (6.598, 6.6, 0.01234, 117.0, 0.995)] == [6.6, 6.6, 0.013, 120.0, 1.0]
