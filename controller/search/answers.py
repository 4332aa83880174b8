"""Answers to queries of every kind, including those that the ledger evaluates in part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.databases import JobHandle
from controller.search.evaluate import Evaluation, true_items
from controller.search.found import FoundItem, best_of, found_item, of_several, scored_hits
from controller.search.meaning import meaning, refuse_unknown, refuse_unknown_custodian
from controller.search.opened import Opened, OpenIndex
from search.found import Ids, uuids
from search.query import Node, asks_ledger, sought
from search.snippets import snippet
from sql.browse import SEARCH, FoundRow

_Part = tuple[JobHandle, list[FoundItem], Ids]  # the first items, and all


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A query and its options; `families`: include the whole families of the matching items, in path order."""

    query: str
    limit: int
    custodian: str | None = None
    families: bool = False


def count_all(handles: Sequence[JobHandle], opened: Opened, wanted: Wanted) -> tuple[list[FoundItem], int]:
    """Return the best `limit` items of several jobs, and how many match: best first, or in path order if the ledger is
    queried or families are wanted. Raises UsageError for a query with a syntax error, RunFailed, faults."""
    parts, by_path = _parts(handles, opened, wanted)
    return _hits(handles, parts, wanted, by_path=by_path), sum(len(ids) for _, _, ids in parts)


def answer_all(handles: Sequence[JobHandle], opened: Opened, wanted: Wanted) -> tuple[list[FoundItem], Facets]:
    """Return the best `limit` items, as `count_all`, with all matching items counted by media type and custodian."""
    parts, by_path = _parts(handles, opened, wanted)
    facets = count_facets([(handle, ids) for handle, _, ids in parts])
    return _hits(handles, parts, wanted, by_path=by_path), facets


def _hits(handles: Sequence[JobHandle], parts: Sequence[_Part], wanted: Wanted, *, by_path: bool) -> list[FoundItem]:
    hits = [hit for handle, hits, _ in parts for hit in of_several(handle, hits, handles)]
    return best_of(hits, wanted.limit, by_path=by_path)


def _parts(handles: Sequence[JobHandle], opened: Opened, wanted: Wanted) -> tuple[list[_Part], bool]:
    """Return the first items and all items of each job, and whether they are in path order: those of all jobs are if
    the ledger of one is queried. Raises UsageError also for an unknown name."""
    refuse_unknown_custodian(handles, wanted.custodian)
    nodes = [meaning(handle, wanted.query, custodian=wanted.custodian) for handle in handles]
    refuse_unknown(handles, nodes)
    by_path = wanted.families or any(map(asks_ledger, nodes))
    parts: list[_Part] = []
    for handle, node in zip(handles, nodes, strict=True):
        with opened(handle) as index:
            if by_path:
                parts.append((handle, *_by_ledger(index, node, wanted)))
            else:
                parts.append((handle, scored_hits(index, node, wanted.limit)[0], true_items(index, node)))
    return parts, by_path


def _by_ledger(index: OpenIndex, node: Node, wanted: Wanted) -> tuple[list[FoundItem], Ids]:
    """Return the items of a query that the ledger evaluates in part. They have no score; their snippets are made from
    their texts."""
    handle, items = index.handle, index.items
    mask = Evaluation(index).mask(node)
    ids = items.ids[items.with_families(mask) if wanted.families else mask]
    rows = handle.database.ask(SEARCH.found_items, job=handle.id, items=uuids(ids), limit=wanted.limit)
    matches = set(uuids(items.ids[mask])) if wanted.families else set()
    patterns = frozenset(sought(node))
    hits = [
        found_item(row, snippet(_text(index, row), patterns), hit=row.id in matches if wanted.families else None)
        for row in rows
    ]
    return hits, ids


def _text(index: OpenIndex, row: FoundRow) -> str:
    reader = None if row.shard is None else index.readers.get(row.shard)
    return "" if reader is None or row.owner is None else reader.body(row.id, row.owner) or ""


FACET_ITEMS = 20_000  # of a job; the database looks up each


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Counts of all matching items; in a job with more than FACET_ITEMS of them, types and custodians are counted over
    that many."""

    items: int
    complete: bool
    types: tuple[tuple[str, int], ...]  # most frequent first
    custodians: tuple[tuple[str, int], ...]


def count_facets(found: Sequence[tuple[JobHandle, Ids]]) -> Facets:
    """Count the items of each job. Raises DatabaseFault."""
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
