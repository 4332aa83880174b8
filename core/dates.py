"""Conversion of dates to UTC, and the zone of a time that states none.

Zones are those of package `tzdata` at the version that is locked, not of the machine: a job's dates are the same on
every host."""

from __future__ import annotations

import difflib
import functools
import re
from datetime import UTC, datetime, tzinfo

from core.errors import UsageError
from core.options import DEFAULT_ZONE

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d+)?(?:(Z|[+-]\d\d:\d\d)|\[([^\[\]]+)\])?\Z", re.ASCII
)  # with an offset, or with a zone's name as RFC 9557 has it

_DAY = re.compile(r"\d{4}(?:-\d\d){0,2}\Z", re.ASCII)
_ASKED = re.compile(
    r"(?P<day>\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?)\Z"  # the end of a range may be 06-31
    r"|(?P<time>\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d)?)?)"
    r"(?:(?<=:\d\d:\d\d)\.\d+)?"  # as JavaScript writes it; the result ends with seconds
    r"(?P<zone>(?<!T\d\d)(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?\Z",  # after an hour alone, the offset could be part of a date
    re.ASCII,
)


@functools.cache
def _names() -> frozenset[str]:
    from importlib import resources  # imported late, like the next: only if a zone is named

    return frozenset((resources.files("tzdata") / "zones").read_text("utf-8").split())


@functools.cache
def zone_named(name: str) -> tzinfo | None:
    """The zone of this name, None if there is none: a name of the IANA database, such as Europe/Berlin, or of Windows,
    such as W. Europe Standard Time, which Outlook and Exchange write; Unicode's CLDR maps the latter."""
    if name == DEFAULT_ZONE:
        return UTC
    from importlib import resources
    from zoneinfo import ZoneInfo

    from tzlocal.windows_tz import win_tz

    name = win_tz.get(name, name)
    if name not in _names():
        return None
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def checked_zone(name: str) -> str:
    """The name of a zone, unchanged. Raises UsageError if there is no such zone."""
    if name == DEFAULT_ZONE or name in _names():
        return name
    alike = {known.lower(): known for known in sorted(_names())}
    near = difflib.get_close_matches(name.lower(), alike, n=1)
    meant = f"did you mean {alike[near[0]]}?" if near else "use a name such as Europe/Berlin, America/New_York or UTC"
    raise UsageError(f"--time-zone: there is no zone {name[:60]!r}; {meant}", field="time_zone")


def is_date(date: str) -> bool:
    """Whether a value is a day, month or year of the calendar, or a day and a time in a known zone, in ISO 8601."""
    match = _TIME.match(date)
    day = _DAY.match(date) if match is None else None
    if match is None and day is None:
        return False
    if match and match[4] and zone_named(match[4]) is None:
        return False
    offset = match[3] if match and match[3] != "Z" else ""
    try:
        datetime.fromisoformat(f"{match[1]}{offset or ''}" if match else f"{date}-01-01"[:10])
    except ValueError:
        return False
    return True


def in_utc(date: str, zone: tzinfo) -> str:
    """An ISO 8601 date and time in UTC, with `Z`; `zone` is that of a time that notes neither an offset nor the name of
    a zone that is known (`2024-03-31T10:00:00[Europe/Berlin]`).

    A time that a zone's clocks skipped is converted with the offset from before the gap; of one that they showed twice
    the first is meant (PEP 495's fold of 0). Days without a time, and what is no date, stay as they are."""
    match = _TIME.match(date)
    if match is None or match[3] == "Z":
        return date
    time, fraction, offset, named = match.groups()
    try:
        moment = datetime.fromisoformat(time + (offset or ""))
        if offset is None:
            moment = moment.replace(tzinfo=(zone_named(named) if named else None) or zone)
        return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat()}{fraction or ''}Z"
    except (ValueError, OverflowError):  # no such day, or beyond the calendar
        return date


def asked_in_utc(date: str) -> str | None:
    """The date of a query in UTC, with the precision given: a year, a month, a day, an hour, minute or second; the last
    two may have `Z` or an offset, as +02:00 or +0200; a fraction of a second is dropped. It is compared with the
    beginning of the ledger's values, so nothing is added to it. None for no valid date, such as month 13 or hour 25."""
    match = _ASKED.match(date)
    if match is None or match["day"]:
        return date if match else None
    time, zone = match["time"], match["zone"]
    try:
        moment = datetime.fromisoformat(time + (zone or ""))
        utc = moment.astimezone(UTC).replace(tzinfo=None) if zone else moment
        return utc.isoformat()[: len(time)]
    except (ValueError, OverflowError):  # no such day, or beyond the calendar
        return None
