"""Dates of metadata as they are booked."""

from __future__ import annotations

import pytest

from core.errors import SystemFault
from readers.keys import DATE, KEYS, misfits
from worker.items.texts import with_dates_in_utc, without_unread_dates


def test_dates_are_in_utc_and_the_original_is_beside() -> None:
    told = {"created": "2024-01-02T10:00:00", "modified": "2024-01-02T10:00:00-05:00", "start": "2024-05-01"}
    told |= {"taken": "2024-01-02T10:00:00Z", "digitised": "2024-01-02T10:00:00+00:00", "title": "2024-01-02T10:00:00"}
    out = with_dates_in_utc(told, "Europe/Berlin")
    assert out == told | {
        "created": "2024-01-02T09:00:00Z",
        "created_original": "2024-01-02T10:00:00",
        "modified": "2024-01-02T15:00:00Z",
        "modified_original": "2024-01-02T10:00:00-05:00",
        "digitised": "2024-01-02T10:00:00Z",
    }
    assert misfits(out) == []
    assert with_dates_in_utc(out, "America/New_York") == out


def test_what_a_handler_keeps_of_the_original_stays() -> None:
    told = {"date": "2024-01-02T10:00:00", "date_original": "Tue, 2 Jan 2024 10:00"}
    assert with_dates_in_utc(told, "UTC") == told | {"date": "2024-01-02T10:00:00Z"}


def test_every_date_has_a_key_for_its_original() -> None:
    """Or it would be metadata that nothing lists."""
    assert {f"{name}_original" for name, key in KEYS.items() if key.kind == DATE} <= KEYS.keys()


def test_a_host_that_lacks_the_jobs_zone_suspends_it() -> None:
    """No date is told in another zone instead."""
    with pytest.raises(SystemFault, match=r"this host has no time zone Europe/Newtown; install package tzdata"):
        with_dates_in_utc({"created": "2024-01-02T10:00:00"}, "Europe/Newtown")


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        *(("2024", True), ("2024-02", True), ("2024-02-29", True), ("2024-03-05T10:11:12.5Z", True)),
        *(("2024-03-05T10:11:12[Europe/Berlin]", True), ("2024-03-05T10:11:12+14:00", True)),
        *(("2023-02-29", False), ("2024-13-45T10:11:12", False), ("2024-03-05T24:61:00Z", False), ("3/5/2024 10:11 AM", False)),
        *(("2024-03-05T10:11:12+25:00", False), ("2024-03-05T10:11:12[Customized Time Zone]", False), ("D:1910003061620", False)),
    ],
)  # fmt: skip
def test_a_date_that_cannot_be_read_for_sure_is_absent_and_reported(value: str, sure: bool) -> None:
    out, unread = without_unread_dates({"created": value, "title": "t"})
    if sure:
        assert (out, unread) == ({"created": value, "title": "t"}, None)
    else:
        assert out == {"title": "t", "created_original": value}
        assert unread is not None
        assert value in unread.detail
