"""Searches all shards of a job and keeps the documents that the database confirms (design §3.9)."""

from __future__ import annotations

import heapq
import os
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from controller.databases import JobHandle
from controller.search.opened import Opened, OpenIndex
from search.engine import Best, Hit, IndexReader, in_order
from search.language import parse
from search.query import Node
from sql.browse import BROWSE, FoundRow
from sql.connection import Connection

HIGHLIGHT_START, HIGHLIGHT_STOP = "\x02", "\x03"


def _unmarked(snippet: str) -> str:
    return snippet.replace(HIGHLIGHT_START, "").replace(HIGHLIGHT_STOP, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    """An item that matches."""

    item: uuid.UUID
    score: float
    container_path: tuple[str, ...]
    custodian: str
    family: uuid.UUID | None
    kind: str
    media_type: str
    snippet: str  # matches between \\x02 and \\x03
    database: str | None = None  # of its job, if several jobs were searched
    job: uuid.UUID | None = None
    hit: bool | None = None  # whether it matches itself, if families were wanted

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the snippet without marks, the score rounded, without the fields that only several jobs
        have."""
        plain = asdict(self) | {
            "item": str(self.item),
            "score": round(self.score, 4),
            "container_path": list(self.container_path),
            "family": self.family and str(self.family),
            "snippet": _unmarked(self.snippet),
            "job": self.job and str(self.job),
        }
        return {name: value for name, value in plain.items() if value is not None or name == "family"}


def search_all(handles: Sequence[JobHandle], opened: Opened, query: str, limit: int) -> tuple[list[FoundItem], int]:
    """Return the best `limit` items of the jobs, best first, and how many match; with several jobs, each item has its
    database and job. Raises UsageError for a query that has a syntax error or needs the ledger, RunFailed, faults."""
    hits: list[FoundItem] = []
    number, node = 0, parse(query)
    for handle in handles:
        with opened(handle) as index:
            best, here = scored_hits(index, node, limit)
            hits += of_several(handle, best, handles)
            number += here
    return best_of(hits, limit), number


def of_several(handle: JobHandle, hits: list[FoundItem], handles: Sequence[JobHandle]) -> list[FoundItem]:
    """Return the hits of a job, with its database and id if it is one of several."""
    if len(handles) == 1:
        return hits
    return [replace(hit, database=handle.database.name, job=handle.id) for hit in hits]


def best_of(hits: list[FoundItem], limit: int, *, by_path: bool = False) -> list[FoundItem]:
    """Return the first `limit` hits, best first, those with the same score by id, so that a larger limit keeps the
    order. `by_path`: in path order, without scores."""
    if by_path:
        return sorted(hits, key=lambda hit: (hit.container_path, hit.item))[:limit]
    return sorted(hits, key=lambda hit: (-hit.score, hit.item))[:limit]


def scored_hits(index: OpenIndex, node: Node, limit: int) -> tuple[list[FoundItem], int]:
    """Return the best of a job's items, and how many match, for a query that the index alone can answer. Shards are
    searched in parallel, and only the best documents of all shards together are read."""
    job = index.handle.id
    clean = [shard for shard in index.readers if shard in index.clean]
    with ThreadPoolExecutor(max(1, min(len(clean), os.cpu_count() or 1))) as pool:
        answers = list(pool.map(lambda shard: index.readers[shard].best(node, limit), clean))
    number = sum(matching for matching, _ in answers)
    all_best = [(one, shard) for shard, (_, best) in zip(clean, answers, strict=True) for one in best]
    raw: list[Hit] = []
    hits: list[FoundItem] = []
    of_shards: dict[uuid.UUID, list[Best]] = {}
    for one, shard in heapq.nsmallest(limit, all_best, key=lambda each: in_order(each[0])):
        of_shards.setdefault(shard, []).append(one)
    for shard, best in of_shards.items():
        raw += index.readers[shard].hits(node, best)
    with index.handle.database.transaction() as conn:
        owners = true_owners(conn, job, [hit.item for hit in raw])
        hits += [found_item(owners[hit.item], hit.snippet, score=hit.score) for hit in raw if hit.item in owners]
        for shard in index.readers.keys() - index.clean:
            hits += search_shard(conn, job, shard, index.readers[shard], node, limit)
            number += _count_true(index, shard, node)
    return best_of(hits, limit), number


def _count_true(index: OpenIndex, shard: uuid.UUID, node: Node) -> int:
    from controller.search.evaluate import true_items_of  # numbers in rows, which few searches need

    return len(true_items_of(index, shard, node))


def search_shard(
    conn: Connection, job: uuid.UUID, shard: uuid.UUID, reader: IndexReader, query: str | Node, limit: int
) -> list[FoundItem]:
    """Return the best `limit` items that this shard owns; ask for more hits while ghosts are among them."""
    asked = limit
    while True:
        hits = reader.search(query, asked)
        owners = true_owners(conn, job, [hit.item for hit in hits])
        real = [
            found_item(owners[hit.item], hit.snippet, score=hit.score) for hit in hits if is_true(hit, shard, owners)
        ]
        if len(real) >= limit or len(hits) < asked:
            return real[:limit]
        asked *= 2


def true_owners(conn: Connection, job: uuid.UUID, items: Sequence[uuid.UUID]) -> dict[uuid.UUID, FoundRow]:
    """Return, for each item that has one, the row with the shard and owner of its valid document."""
    if not items:
        return {}
    return {row.id: row for row in BROWSE.true_owners(conn, job=job, items=list(items))}


def is_true(hit: Hit, shard: uuid.UUID, owners: Mapping[uuid.UUID, FoundRow]) -> bool:
    """Return whether the database names exactly this document."""
    row = owners.get(hit.item)
    return row is not None and row.shard == shard and row.owner == hit.owner


def found_item(row: FoundRow, snippet: str, *, score: float = 0.0, hit: bool | None = None) -> FoundItem:
    """Return the item of a row."""
    return FoundItem(
        item=row.id,
        score=score,
        container_path=tuple(row.container_path),
        custodian=row.custodian,
        family=row.family_id,
        kind=row.kind,
        media_type=row.media_type,
        snippet=snippet,
        hit=hit,
    )
