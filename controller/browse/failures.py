"""Exceptions of jobs as a person looks through them: counted, and all of them in a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.databases import JobHandle
from sql.faces.browse import BROWSE

_EXCEPTIONS_AT_ONCE = 2_000
EXCEPTION_FIELDS = (
    "item",
    "custodian",
    "container_path",
    "kind",
    "media_type",
    "bytes",
    "code",
    "level",
    "phase",
    "detail",
    "missing",
)


def exceptions_by(handles: Sequence[JobHandle], by: str, code: str | None = None) -> list[dict[str, Any]]:
    """Exceptions by `code`, `type` or `custodian`, most frequent first, of one code if given."""
    sums: dict[str, dict[str, int]] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in BROWSE.exceptions_by(conn, job=handle.id, by=by, code=code):
                into = sums.setdefault(row.name, {"exceptions": 0, "items": 0, "missing": 0})
                for key in into:
                    into[key] += getattr(row, key)
    ordered = sorted(sums.items(), key=lambda pair: (-pair[1]["exceptions"], pair[0]))
    return [{"name": name, **counts} for name, counts in ordered]


def stream_exceptions(handles: Sequence[JobHandle], wanted: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    """Every exception with the keys of EXCEPTION_FIELDS, one job after the other; `wanted` may give code, type and
    custodian. No transaction stays open between rows that are read slowly."""
    filters = {key: wanted.get(key) for key in ("code", "type", "custodian")}
    for handle in handles:
        after = -1
        while True:
            with handle.database.transaction() as conn:
                rows = BROWSE.exceptions_page(conn, job=handle.id, after=after, limit=_EXCEPTIONS_AT_ONCE, **filters)
            for row in rows:
                yield {key: getattr(row, key) for key in EXCEPTION_FIELDS}
            if len(rows) < _EXCEPTIONS_AT_ONCE:
                break
            after = rows[-1].number
