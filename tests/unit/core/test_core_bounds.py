"""Bounds of --fail-if."""

import pytest

from core.bounds import parse_bounds, percentiles
from core.errors import UsageError

NAMES = ["gb_per_hour_discovered", "gb_per_hour_raw", "elapsed_s", "storage_share", "mb_per_s", "iops", "items",
         *percentiles("p50", "p99")]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "limit"),
    [
        ("p99.read>20ms", "p99.read", 20_000.0),
        ("p50.write >= 0.5s", "p50.write", 500_000.0),
        ("gb_per_hour<400", "gb_per_hour_discovered", 400.0),
        ("gb_per_hour<0.4TB/h", "gb_per_hour_discovered", 400.0),
        ("gb_per_hour_raw<400GB/h", "gb_per_hour_raw", 400.0),
        ("elapsed_s>10min", "elapsed_s", 600.0),
        ("storage_share<=25%", "storage_share", 0.25),
        ("mb_per_s<1.5GB/s", "mb_per_s", 1_500.0),
        ("iops<5000/s", "iops", 5_000.0),
        (" items < 7 ", "items", 7.0),
    ],
)
def test_a_bound_has_a_name_a_sign_and_a_limit_in_the_unit_of_the_name(text: str, name: str, limit: float) -> None:
    """Promise: units are converted; the beginning of a name means the first that it continues to."""
    (bound,) = parse_bounds([text], NAMES)
    assert (bound.name, bound.limit) == (name, pytest.approx(limit))


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("p99.raed>20ms", "there is no figure p99.raed; use gb_per_hour_discovered, gb_per_hour_raw, elapsed_s"),
        ("p99.read>20", "add the unit: us, ms, s, min, h"),
        ("p99.read>20GB", "p99.read has no unit 'GB'; use us, ms, s"),
        ("items>5ms", "items has no unit 'ms'; use none"),
        ("p95.read>1ms", "there is no figure p95.read"),
        ("elapsed>5", "there is no figure elapsed"),
        ("p99.read=20ms", "write NAME>VALUE"),
        ("p99.read>-1ms", "write NAME>VALUE"),
        ("p99.read>nan", "write NAME>VALUE"),
        ("p99.read>20ms;rm", "p99.read has no unit"),
        ("\x00>1", "write NAME>VALUE"),
        ("", "write NAME>VALUE"),
        ("a" * 5_000, "write NAME>VALUE"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(text: str, shows: str) -> None:
    """Promise: a wrong name or unit is refused, and the line lists the right ones."""
    with pytest.raises(UsageError) as refused:
        parse_bounds([text], NAMES)
    assert shows in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.field == "fail_if"


def test_the_worst_value_decides() -> None:
    """Promise: of several points the one most against the bound; a bound on nothing is broken, not passed."""
    above, below, exact = parse_bounds(["p99.read>20ms", "gb_per_hour<400", "items>=5"], NAMES)
    worst = above.outcome([("1 worker", 3_000.0), ("4 workers", 31_200.0)])
    assert worst.line == "FAILED p99.read>20ms: 31.2 ms at 4 workers"
    assert below.outcome([("1 worker", 900.0), ("4 workers", 401.0)]).line == "passed gb_per_hour<400: 401 at 4 workers"
    assert above.outcome([("", 16_520_000.0)]).shown == "16,520 ms"
    assert exact.outcome([("", 5.0)]).failed
    assert not exact.outcome([("", 4.0)]).failed
    assert above.outcome([]).line == "FAILED p99.read>20ms: not measured"
