"""What a search found, counted by media type and custodian."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.databases import JobHandle
from search.found import Ids, uuids
from sql.faces.search import SEARCH

FACET_ITEMS = 20_000  # of a job; the database is asked for each


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Items that match, all of them; where a job has more than FACET_ITEMS, types and custodians are counted over so many."""

    items: int
    complete: bool
    types: tuple[tuple[str, int], ...]  # most frequent first
    custodians: tuple[tuple[str, int], ...]


def count_facets(found: Sequence[tuple[JobHandle, Ids]]) -> Facets:
    """The items of each job, counted. Raises DatabaseFault."""
    types: Counter[str] = Counter()
    custodians: Counter[str] = Counter()
    for handle, ids in found:
        with handle.database.transaction() as conn:
            for row in SEARCH.found_facets(conn, job=handle.id, items=uuids(ids[:FACET_ITEMS])):
                types[row.type] += row.items
                custodians[row.custodian] += row.items
    return Facets(
        items=sum(len(ids) for _, ids in found),
        complete=all(len(ids) <= FACET_ITEMS for _, ids in found),
        types=_sorted(types),
        custodians=_sorted(custodians),
    )


def _sorted(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
