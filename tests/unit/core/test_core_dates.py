"""Dates in UTC: what a time without a zone means in one, where clocks are set, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo, reset_tzpath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tzlocal.windows_tz import win_tz

from core.errors import UsageError
from core.options.dates import asked_in_utc, checked_zone, in_utc, zone_named

_NAMES = sorted((resources.files("tzdata") / "zones").read_text().split())


def _zone(name: str) -> ZoneInfo:
    zone = zone_named(name)
    assert zone is not None
    return zone


@pytest.mark.parametrize(
    ("date", "wanted"),
    [
        ("2024-01-02T10:00:00", "2024-01-02T09:00:00Z"),
        ("2024-07-02T10:00:00", "2024-07-02T08:00:00Z"),
        ("2024-03-31T02:30:00", "2024-03-31T01:30:00Z"),  # skipped: half an hour behind 01:59:59, so 03:30 there
        ("2024-10-27T02:30:00", "2024-10-27T00:30:00Z"),  # there twice: the first
        ("2024-10-27T03:00:00", "2024-10-27T02:00:00Z"),
        ("2024-07-01T00:30:00.123456789", "2024-06-30T22:30:00.123456789Z"),
        ("1880-01-01T00:00:00", "1879-12-31T23:06:32Z"),  # mean time of the place
        ("2020-03-06T16:20:51+08:00", "2020-03-06T08:20:51Z"),
        ("2020-03-06T16:20:51-00:30", "2020-03-06T16:50:51Z"),
        ("2020-03-06T16:20:51+00:00", "2020-03-06T16:20:51Z"),
        ("2020-03-06T16:20+08:00", "2020-03-06T08:20:00Z"),
        ("2024-01-02T10:00:00[America/New_York]", "2024-01-02T15:00:00Z"),
        ("2024-01-02T10:00:00[W. Europe Standard Time]", "2024-01-02T09:00:00Z"),
        (
            "2024-07-02T10:00:00[Eastern Standard Time]",
            "2024-07-02T14:00:00Z",
        ),  # Windows' name of New York's, summer or not
        ("2024-01-02T10:00:00[India Standard Time]", "2024-01-02T04:30:00Z"),
        ("2024-01-02T10:00:00[Customized Time Zone]", "2024-01-02T09:00:00Z"),
        ("2024-01-02T10:00:00[../../../etc/passwd]", "2024-01-02T09:00:00Z"),
    ],
)
def test_a_time_is_given_in_utc(date: str, wanted: str) -> None:
    """By its offset or the zone that it names, else by Berlin's."""
    assert in_utc(date, _zone("Europe/Berlin")) == wanted


@pytest.mark.parametrize(
    "date",
    ["2024-01-02", "2024-01-02T10:00:00Z", "2024-02-30T10:00:00", "2024-01-02T25:00:00", "0001-01-01T00:00:00",
     "9999-12-31T23:59:59-01:00", "2024-01-02T10:00:00+99:00", "yesterday", "", "2024-01-02T10:00:00Z\n"],
)  # fmt: skip
def test_what_cannot_be_told_in_utc_stays(date: str) -> None:
    """A day, what is in UTC, what is no date, and what would lie outside the calendar."""
    assert in_utc(date, _zone("Europe/Berlin")) == date


@given(st.sampled_from(_NAMES), st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)))
def test_in_every_zone_a_time_is_the_one_that_its_clocks_showed(name: str, local: datetime) -> None:
    """The moment's local time is the one that was noted; one that was skipped is moved ahead by as much as was skipped, and
    of two moments with this local time it is the first."""
    local = local.replace(microsecond=0)
    zone = _zone(name)
    moment = datetime.fromisoformat(in_utc(local.isoformat(), zone))
    shown = moment.astimezone(zone)
    ahead = shown.replace(tzinfo=None) - local
    if ahead:
        before, after = (zone.utcoffset((moment + timedelta(days=way)).astimezone(zone)) for way in (-1, 1))
        assert ahead == shown.utcoffset() - zone.utcoffset(local.replace(tzinfo=zone))  # type: ignore[operator]
        assert ahead > timedelta(0) or before == after
    other = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if other.astimezone(zone).replace(tzinfo=None) == local and not ahead:
        assert moment <= other


def test_zones_are_had_without_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    reset_tzpath(())
    try:
        zone_named.cache_clear()
        assert in_utc("2024-07-02T10:00:00", _zone("Europe/Berlin")) == "2024-07-02T08:00:00Z"
    finally:
        reset_tzpath()
    assert all(zone_named(name) is not None for name in _NAMES)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Europe/Belin", "did you mean Europe/Berlin?"),
        ("+02:00", "use a name such as Europe/Berlin"),
        ("../etc/passwd", "use a name such as"),
        ("", "use a name such as"),
        ("Europe", "there is no zone 'Europe'"),
    ],
)
def test_a_zone_that_is_none_is_refused_in_one_line(name: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked_zone(name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.field == "time_zone"


@pytest.mark.parametrize(
    ("date", "asked"),
    [
        ("2001-06-30T17:45:00+02:00", "2001-06-30T15:45:00"),
        ("2001-06-30T17:45:09Z", "2001-06-30T17:45:09"),
        ("2001-06-30T17:45+02:00", "2001-06-30T15:45"),
        ("2001-06-30T17:45+0200", "2001-06-30T15:45"),  # as headers of mail have it
        ("2001-06-30T17:45-05:30", "2001-06-30T23:15"),
        ("2001-06-30T23:45-05:00", "2001-07-01T04:45"),
        ("2001-06-30T17:45Z", "2001-06-30T17:45"),
        ("2001-06-30T17:45:00", "2001-06-30T17:45:00"),
        ("2001-06-30T17:45", "2001-06-30T17:45"),
        ("2001-06-30T17", "2001-06-30T17"),
        ("2001-06-30T17:45:00.5", "2001-06-30T17:45:00"),
        ("2001-06-30T17:45:00.000Z", "2001-06-30T17:45:00"),  # as JavaScript has it
        ("2001-06-30T17:45:00.25+02:00", "2001-06-30T15:45:00"),
        ("2001-06-31", "2001-06-31"),  # the end of a range
        ("2001-06-30", "2001-06-30"),
        ("2001-06", "2001-06"),
        ("2001", "2001"),
    ],
)
def test_a_query_is_in_utc(date: str, asked: str) -> None:
    assert asked_in_utc(date) == asked


@pytest.mark.parametrize(
    "date",
    ["", "20010630", "2001-13", "2001-06-32", "2001-06-30T", "2001-06-30T99:99", "2001-06-30T24:00", "2001-06-30T17:60",
     "2001-06-30T17:45:61", "2001-06-30T17:4", "2001-06-30T1745", "2001-06-31T17:45", "2001-06-30T17+02:00",
     "2001-06-30T17:45+2", "2001-06-30T17:45+02", "2001-06-30T17:45+99:00", "2001-06-30T17:45+02:75",
     "2001-06-30T17:45ZZ", "2001-06-30T17:45CET", "2001-06-30Z", "2001-06-30+02:00",
     "0001-01-01T00:00+02:00", "9999-12-31T23:59-02:00", "2001-06-30T17:45\n", "٢٠٠١"],
)  # fmt: skip
def test_a_query_with_no_date_is_told(date: str) -> None:
    """It would find nothing, and excluded exclude nothing."""
    assert asked_in_utc(date) is None


def test_every_name_of_windows_is_a_zone_and_none_that_a_job_may_have() -> None:
    """What Outlook and Exchange write into calendars; jobs are told by the names that people know."""
    assert len(win_tz) > 130
    assert all(zone_named(name) is not None for name in win_tz)
    with pytest.raises(UsageError, match="there is no zone 'Eastern Standard Time'"):
        checked_zone("Eastern Standard Time")
