"""Dates of an item's metadata as the ledger has them: in UTC, the original beside."""

from __future__ import annotations

from typing import Any

from core.errors import SystemFault
from core.options.dates import in_utc, zone_named
from readers.keys import DATE, KEYS

_DATES = tuple(name for name, key in KEYS.items() if key.kind == DATE)


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
