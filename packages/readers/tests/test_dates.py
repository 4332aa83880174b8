"""Dates of metadata as readers give them: what is no date comes out as it is, so that it is reported, and never as another one."""

import pytest

from readers.documents.pdf.handler import iso_date
from readers.images.exif import _iso as of_exif
from readers.mail.contacts import _iso as of_calendar


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("D:20200306162051+01'00'", "2020-03-06T16:20:51+01:00"),
        ("D:20200306162051Z00'00'", "2020-03-06T16:20:51+00:00"),
        ("D:20200306162051+01:00", "2020-03-06T16:20:51+01:00"),
        ("20200306162051-0800", "2020-03-06T16:20:51-08:00"),
        ("D:20221104110439Z", "2022-11-04T11:04:39+00:00"),
        ("2008", "2008-01-01T00:00:00"),
        ("yesterday", "yesterday"),
        ("D:191000306162051", "D:191000306162051"),  # of programs that counted years from 1900
        ("D:20200306162051 PM", "D:20200306162051 PM"),
        ("3/5/2024 10:11:12 AM", "3/5/2024 10:11:12 AM"),
    ],
)
def test_dates_of_pdf(written: str, read: str) -> None:
    assert iso_date(written) == read


@pytest.mark.parametrize(
    ("written", "zone", "read"),
    [
        ("2024:03:05 10:11:12", "+01:00", "2024-03-05T10:11:12+01:00"),
        ("2024:03:05 10:11:12", "   :  ", "2024-03-05T10:11:12"),
        ("2024:03:05 10:11:12+01:00", "", "2024-03-05T10:11:12+01:00"),
        ("2024:03:05 10:11:12.55", "", "2024-03-05T10:11:12"),
        ("2024:03:05 03:11:12 PM", "", "2024:03:05 03:11:12 PM"),
        ("05/03/2024", "", "05/03/2024"),
        ("2024:03:05", "", "2024-03-05"),
        ("    ", "", ""),
        ("0000:00:00 00:00:00", "", ""),
        ("    :  :     :  :  ", "", ""),
    ],
)
def test_dates_of_pictures(written: str, zone: str, read: str) -> None:
    assert of_exif(written, zone) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("20240305T101112+0100", "2024-03-05T10:11:12+01:00"),
        ("2024-03-05T10:11:12+01:00", "2024-03-05T10:11:12+01:00"),
        ("20240305T1011", "2024-03-05T10:11:00"),
        ("20240305T101160Z", "2024-03-05T10:11:59+00:00"),
        ("20240305", "2024-03-05"),
        ("20240305T10111", "20240305T10111"),
        ("20240305T", "20240305T"),
        ("20240305T251112", "20240305T251112"),
        ("20241332T250000Z", "20241332T250000Z"),
    ],
)
def test_dates_of_calendars(written: str, read: str) -> None:
    assert of_calendar(written, "") == read
