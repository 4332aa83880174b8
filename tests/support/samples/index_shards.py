"""An index shard of some documents, as a slot publishes it."""

import uuid
from collections.abc import Iterable
from pathlib import Path

from search.engine import IndexDocument, IndexReader, new_writer, open_reader
from search.language import parse


def shard_of(engine: str, home: Path, documents: Iterable[IndexDocument]) -> IndexReader:
    """Write `home`/index and open it."""
    writer = new_writer(engine, home / "index")
    for document in documents:
        writer.add(document)
    writer.finish()
    writer.close()
    return open_reader(engine, home / "index", home / "view")


def numbered(*bodies: str, **fields: str) -> list[IndexDocument]:
    """Return documents of these bodies whose items are numbered from 0."""
    return [IndexDocument(item=uuid.UUID(int=n), owner="1:1", body=body, **fields) for n, body in enumerate(bodies)]


def matching(reader: IndexReader, query: str) -> int:
    """Number of matching documents, ghosts included."""
    return reader.best(parse(query), 1)[0]
