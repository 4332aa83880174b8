"""Dates of an item's metadata as the ledger has them: in UTC, the original beside."""

from __future__ import annotations

from typing import Any

from core.errors import SystemFault
from core.options.dates import in_utc, is_date, zone_named
from readers.errors import ExceptionCode, FieldUnread
from readers.keys import DATE, KEYS

_DATES = tuple(name for name, key in KEYS.items() if key.kind == DATE)


def without_unread_dates(metadata: dict[str, Any]) -> tuple[dict[str, Any], FieldUnread | None]:
    """The metadata without values of dates that are no dates (`2024-13-45`, `3/5/24`), which stay as the original beside, and the
    exception that says so: sorting and filters go by dates, and one that cannot be read for sure is absent."""
    wrong = [name for name in _DATES if name in metadata and not is_date(str(metadata[name]))]
    if not wrong:
        return metadata, None
    out = {name: value for name, value in metadata.items() if name not in wrong}
    for name in wrong:
        out.setdefault(f"{name}_original", str(metadata[name]))
    told = ", ".join(f"{name} {str(metadata[name])[:80]!r}" for name in wrong)
    return out, FieldUnread(ExceptionCode.CORRUPT, f"dates cannot be read for sure: {told}")


def with_dates_in_utc(metadata: dict[str, Any], zone: str) -> dict[str, Any]:
    """The metadata with its dates in UTC; `zone` is the name of that of times that note none. What a date was is beside, as
    `created_original` is beside `created`, unless it was in UTC. Raises SystemFault for a zone that this host lacks."""
    told = [name for name in _DATES if name in metadata and str(metadata[name])[-1:] != "Z"]
    if not told:
        return metadata
    of_job = zone_named(zone)
    if of_job is None:
        raise SystemFault(f"this host has no time zone {zone}; install package tzdata as it is locked")
    out = dict(metadata)
    for name in told:
        was = str(metadata[name])
        out[name] = in_utc(was, of_job)
        if out[name] != was and not was.endswith("+00:00"):
            out.setdefault(f"{name}_original", was)
    return out
