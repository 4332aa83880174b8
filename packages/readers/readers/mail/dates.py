"""Date fields of messages (RFC 5322, 3.3 and 4.3) and the forms that programs write instead. A value that cannot be
read with certainty gives no date: sorting, filters, threads and hashes use it, and a date that is wrong by hours is
worse than none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from readers.mail.header_lines import without_comments

_USUAL = re.compile(
    r"(?:[A-Za-z]{3}, +)?(\d\d?) ([A-Z][a-z][a-z]) ((?:19|20)\d\d) (\d\d):(\d\d)(?::(\d\d))? (\+|-)(0\d|1[0-4])([0-5]\d)"
    r"(?: \([A-Za-z]+\))?",
    re.ASCII,
)
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_DAY_NAME = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?[\s,]+|[a-z]{1,12}\.?\s*,\s*)?"
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{2,4})(?![\d:])"
_TIME = (
    r"(?P<hour>\d\d?)(?:(?P<mark>[:.])(?P<minute>\d\d?)(?:(?P=mark)(?P<second>\d\d?)(?:[.,]\d+)?)?)(?![\d:])"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
)
_ZONE = r"(?P<zone>.*)"
_FORMS = tuple(  # compiled with the first date that has another form than the usual one
    rf"\s*{form}\s*"
    for form in (
        # RFC 5322, RFC 850, and American order
        rf"{_DAY_NAME}{_DAY}(?:\s*-\s*|\s+|\s*,\s*){_MONTH}(?:\s*-\s*|[\s,]+){_YEAR}(?:[\s,]+(?:at\s+)?){_TIME}{_ZONE}",
        rf"{_DAY_NAME}{_MONTH}\s+{_DAY}[\s,]+{_YEAR}(?:[\s,]+(?:at\s+)?){_TIME}{_ZONE}",
        # asctime, ctime with a zone, `date`
        rf"{_DAY_NAME}{_MONTH}\s+{_DAY},?\s+{_TIME}(?P<early>\s+[a-z]{{1,5}}(?:\s+dst)?|\s*[+-]\d{{4}})?,?\s+{_YEAR}{_ZONE}",
        rf"{_DAY_NAME}{_DAY}\s+{_MONTH}\s+{_TIME}(?P<early>\s+[a-z]{{1,5}}(?:\s+dst)?|\s*[+-]\d{{4}})?,?\s+(?P<year>\d{{4}})(?!\d){_ZONE}",
        # ISO 8601 and RFC 3339
        rf"{_DAY_NAME}(?P<year>\d{{4}})(?P<sign>[-/])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?:t|[\s,]+|\s+at\s+){_TIME}{_ZONE}",
    )
)
_COMPACT = r"\s*(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)t(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?P<zone>.*)"
# An offset from Greenwich, with the name of the zone before or after it.
_OFFSET = re.compile(
    r"(?P<name>[a-z]{1,5})?\s*(?P<sign>[+\u2212-])\s?(?:(?P<hours>\d\d?)(?::(?P<minutes>[0-5]\d))?|(?P<both>\d\d[0-5]\d))(?!\d)"
    r"[\s,]*(?P<again>[^\d+-]*)",
    re.ASCII | re.IGNORECASE,
)
_HALF = re.compile(r"[ap]\.?m\b", re.IGNORECASE)
_OFFSET_IN_COMMENT = re.compile(r"\([^)]*[+-]\d", re.ASCII)
_NAME = re.compile(r"[a-z]{1,5}", re.ASCII | re.IGNORECASE)
_HOURS = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_LONGEST = 500  # characters
_FURTHEST = timedelta(hours=14)
_FIRST_OF_MAIL = 1970  # a three-digit year before it is invalid: 024


class Moment(NamedTuple):
    """A time in UTC, and whether the field has a zone."""

    when: datetime
    zoned: bool


def moment(value: str) -> Moment | None:
    """Return the moment in a Date field; None if that is not certain. One without a zone is taken as UTC, for every
    job, because hashes are computed from it. A single name that RFC 5322 does not know is UTC by its section 4.3."""
    usual = _USUAL.fullmatch(value)
    if usual is not None:
        day, month, year, hour, minute, second, sign, hours, minutes = usual.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes))
        when = _datetime(int(year), _number(month), int(day), int(hour), int(minute), int(second or 0))
        return None if when is None else Moment(when + away if sign == "-" else when - away, zoned=True)
    if len(value) > _LONGEST:
        return None
    text = without_comments(value).partition("(")[0] if "(" in value else value  # the last comment may be cut
    text = text.strip(" \t\"'")
    for form in (*_FORMS, _COMPACT):
        if (found := re.fullmatch(form, text, re.ASCII | re.IGNORECASE)) is not None:
            moment = _moment(found.groupdict())
            unsure = moment and not (moment.zoned and _is_known(found["zone"].strip()))
            return None if unsure and _OFFSET_IN_COMMENT.search(value) else moment
    return None


def utc_time(value: str) -> int | None:
    """Return a Date field in seconds UTC since the epoch; None if it cannot be read with certainty."""
    found = moment(value)
    return None if found is None else int(found.when.replace(tzinfo=UTC).timestamp())


def _moment(part: dict[str, str | None]) -> Moment | None:
    year, hour = _year(part["year"] or ""), _hour(int(part["hour"] or 0), part.get("half"))
    if year is None or hour is None:
        return None
    month = part["month"] or ""
    when = _datetime(
        year,
        int(month) if month.isdigit() else _number(month),
        int(part["day"] or 0),
        hour,
        int(part["minute"] or 0),
        int(part.get("second") or 0),
    )
    zone = f"{part.get('early') or ''} {part['zone'] or ''}".strip(" \t,;.")
    if when is None or not zone:
        return None if when is None else Moment(when, zoned=False)
    away = _away(zone)
    try:
        return None if away is None else Moment(when - away, zoned=True)
    except OverflowError:  # beyond the years 1 to 9999
        return None


def _away(zone: str) -> timedelta | None:
    """Return the offset of a zone from Greenwich; None if it is not certain: names and offsets that contradict one
    another, rules for summer time (`EST5EDT`), names of several words."""
    if _NAME.fullmatch(zone):
        return timedelta(hours=_HOURS.get(zone.lower(), 0))
    offset = _OFFSET.fullmatch(zone)
    if offset is None:
        return None
    both = offset["both"] or f"{offset['hours']:>02}{offset['minutes'] or '00'}"
    away = timedelta(hours=int(both[:2]), minutes=int(both[2:]))
    if away > _FURTHEST:
        return None
    away = away if offset["sign"] == "+" else -away
    if _HALF.match(offset["again"] or ""):  # half of the day, after the zone
        return None
    for name in (offset["name"], offset["again"]):
        known = _HOURS.get((name or "").strip().lower())
        if known is not None and timedelta(hours=known) != away:
            return None
    return away


def _is_known(zone: str) -> bool:
    """Return whether a zone is more than a name that RFC 5322 does not know."""
    return not _NAME.fullmatch(zone) or zone.lower() in (*_HOURS, "gmt", "ut", "utc", "z")


def _year(digits: str) -> int | None:
    """Return the full year (RFC 5322, 4.3): 00 to 49 are 20xx; 1900 is added to others of two or three digits."""
    year = int(digits)
    if len(digits) == len("99"):
        return year + (1900 if digits >= "50" else 2000)
    if len(digits) == len("124"):
        return 1900 + year if year >= _FIRST_OF_MAIL - 1900 else None
    return year if digits[0] != "0" else None


def _hour(hour: int, half: str | None) -> int | None:
    """Return the hour of the day by its half (`am` or `pm`), if given: 12 is the first. Some write 15:00 pm."""
    if half is None:
        return hour
    if half in "aA":
        return hour % 12 if hour <= 12 else None
    return None if hour == 0 else hour + 12 if hour < 12 else hour


def _number(month: str) -> int:
    at = _MONTHS.find(month[:3].lower())
    return at // 3 + 1 if at >= 0 and at % 3 == 0 else 0


def _datetime(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime | None:
    """Return the time; None if there is no such time. A leap second is the first second of the next minute."""
    leap = second == 60
    try:
        when = datetime(year, month, day, hour, minute, 59 if leap else second)
        return when + timedelta(seconds=1) if leap else when
    except (ValueError, OverflowError):
        return None
