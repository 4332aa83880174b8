"""What the published shards really hold, beside what the database says they do."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection

from controller.verify.tables import copy_rows
from search.engine import IndexReader
from sql.faces.verify import VERIFY

_FIRST_LIMIT = 100


def load_documents(conn: Connection, readers: Mapping[uuid.UUID, IndexReader]) -> int:
    """Fill `held` with every document of every shard; how many there are."""
    rows = ((shard, item, owner) for shard, reader in readers.items() for item, owner in reader.owners())
    count = copy_rows(conn, "held", ("shard", "item", "owner"), rows)
    conn.exec_driver_sql("ANALYZE held")
    return count


def check_documents(conn: Connection, job: uuid.UUID) -> int:
    """Each item's index document; returns the number of ghosts."""
    VERIFY.verify_owners(conn, job=job)
    return VERIFY.verify_ghosts(conn)


def check_terms(conn: Connection, terms: Sequence[str], readers: Mapping[uuid.UUID, IndexReader]) -> None:
    """Search every planted term in every shard."""
    copy_rows(conn, "hit", ("number", "shard", "item", "owner"), _hits(terms, readers))
    conn.exec_driver_sql("ANALYZE hit")
    VERIFY.verify_terms(conn, terms=list(terms))


def _hits(
    terms: Sequence[str], readers: Mapping[uuid.UUID, IndexReader]
) -> Iterator[tuple[int, uuid.UUID, uuid.UUID, str]]:
    for number, term in enumerate(terms):
        query = as_phrase(term)
        for shard, reader in readers.items():
            limit = _FIRST_LIMIT
            while len(hits := reader.search(query, limit, snippets=False)) == limit:
                limit *= 10
            for hit in hits:
                yield number, shard, hit.item, hit.owner


def as_phrase(term: str) -> str:
    """The query that finds a term as it stands."""
    return '"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"'
