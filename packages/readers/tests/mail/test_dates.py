"""readers.mail.dates: dates as programs write them; one that is not sure is none, and is reported."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.errors import FieldUnread
from readers.mail.dates import moment
from readers.mail.eml import EmlHandler
from readers.mail.header_lines import without_comments

DAY = "Tue, 05 Mar 2024 "


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        (DAY + "10:11:12 +01:00", "09:11:12"),
        (DAY + "10:11:12 GMT +0100", "09:11:12"),
        (DAY + "10:11:12 GMT+01:00", "09:11:12"),
        (DAY + "10:11:12 UTC+2", "08:11:12"),
        (DAY + "10:11:12 -03:30", "13:41:12"),
        (DAY + "10:11:12 +1", "09:11:12"),
        (DAY + "10:11:12 +0100 GMT", "09:11:12"),
        (DAY + "10:11:12 -0500 EST", "15:11:12"),
        (DAY + "10:11:12 (EST) -0500", "15:11:12"),
        (DAY + "10:11:12 -0800 Pacific Standard Time", "18:11:12"),
        (DAY + "10:11:12 +0100 (CET", "09:11:12"),
        (DAY + "10:11:12 EST (GMT-5)", "15:11:12"),
        (DAY + "10:11:12 CET (of Paris)", "10:11:12"),
        (DAY + "03:11:12 PM +0100", "14:11:12"),
        (DAY + "12:30:00 AM +0000", "00:30:00"),
        (DAY + "12:30:00 p.m. +0000", "12:30:00"),
        (DAY + "15:11 pm +0000", "15:11:00"),
        ("Tue (Tuesday), 05 Mar 2024 10:11:12 (no(o)n) +0100", "09:11:12"),
        ("2024-03-05T10:11:12+01:00", "09:11:12"),
        ("2024-03-05 10:11:12.5 -0100", "11:11:12"),
        ("20240305T101112Z", "10:11:12"),
        (DAY + " 10:11:12.123 +0100", "09:11:12"),
        ("Tue, 05 Mar 124 10:11:12 +0100", "09:11:12"),
        ("Tuesday, 05-Mar-24 10:11:12 GMT", "10:11:12"),
        ("Tue Mar  5 10:11:12 EST 2024", "15:11:12"),
        ("Tue Mar  5 10:11:12 2024 +0100", "09:11:12"),
        ("March 5, 2024 at 10:11 AM EST", "15:11:00"),
    ],
)
def test_forms_that_programs_write(written: str, utc: str) -> None:
    """Offsets with colons, with names, of one digit; halves of the day; comments; ISO 8601; years of three digits."""
    found = moment(written)
    assert found is not None
    assert (found.when.isoformat(), found.zoned) == (f"2024-03-05T{utc}", True)


@pytest.mark.parametrize(
    "written",
    [
        DAY + "10:11:12 EST5EDT",
        DAY + "03:11:12 +0100 PM",
        DAY + "10:11:12 (GMT+02:00)",
        DAY + "10:11:12 CET (GMT+1)",
        DAY + "10:11:12 EST+5",
        DAY + "10:11:12 +0100 EST",
        DAY + "10:11:12 Pacific Standard Time",
        DAY + "10:11:12 America/New_York",
        DAY + "10:11:12 +130",
        DAY + "10:11:12 +2400",
        DAY + "10:11:12 +0175",
        DAY + "15:11:12 AM +0000",
        DAY + "24:00:00 +0000",
        DAY.strip(),
        "05/03/2024 10:11:12 +0000",
        "Tue, 05 Mar 024 10:11:12 +0000",
        "Mon, 01 Jan 0001 00:00:00 +0000",
        "Tue, 31 Feb 2024 10:00:00 +0000",
        "1709629872",
        DAY + "10:11:12 +0100, " + DAY + "11:11:12 +0100",
    ],
)
def test_what_is_not_sure_is_absent_and_reported(written: str) -> None:
    assert moment(written) is None
    data = f"From: a@b.example\nDate: {written}\nSubject: s\n\nbody\n".encode()
    text = EmlHandler().text(MemorySource(b"m.eml", data), Limits())
    assert "date" not in text.metadata
    assert text.metadata["date_original"] == written
    assert isinstance(text.error, FieldUnread)


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30)),
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from(["%a, %d %b %Y %H:%M:%S", "%d %B %Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%b %d, %Y %I:%M:%S %p"]),
    st.sampled_from([" {}{:02}{:02}", " {}{:02}:{:02}", " GMT{}{:02}:{:02}", "{}{:02}{:02} (x)", " UTC {}{:02}{:02}"]),
)
def test_every_form_with_every_offset(when: datetime, away: int, form: str, zone: str) -> None:
    when = when.replace(microsecond=0)
    sign, (hours, minutes) = "-" if away < 0 else "+", divmod(abs(away), 60)
    found = moment(when.strftime(form) + zone.format(sign, hours, minutes))
    assert found is not None
    assert found.when == when - timedelta(minutes=away)


@given(st.text(alphabet='()"\\ ab1:+,-', max_size=60))
def test_comments_end(value: str) -> None:
    kept = without_comments(value)
    if "(" not in value or ")" not in value:
        assert kept == value
    assert len(kept) <= len(value) + value.count(")")
    moment(value)
