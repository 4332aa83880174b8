"""Which index engines there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.errors import UsageError
from worker.indexes.base import IndexReader, IndexWriter
from worker.indexes.tantivy_engine import TantivyReader, TantivyWriter
from worker.indexes.whoosh_engine import WhooshReader, WhooshWriter

_ENGINES: dict[str, tuple[Callable[[Path], IndexWriter], Callable[[Path, Path], IndexReader]]] = {
    "tantivy": (TantivyWriter, TantivyReader),
    "whoosh": (WhooshWriter, WhooshReader),
}


def _engine(name: str) -> tuple[Callable[[Path], IndexWriter], Callable[[Path, Path], IndexReader]]:
    try:
        return _ENGINES[name]
    except KeyError:
        raise UsageError(f"there is no index engine {name!r}; take one of {', '.join(_ENGINES)}") from None


def new_writer(engine: str, directory: Path) -> IndexWriter:
    """A writer of a fresh shard in a local directory that does not exist yet."""
    return _engine(engine)[0](directory)


def open_reader(engine: str, directory: Path, view: Path) -> IndexReader:
    """A reader of the shard published in `directory`; `view` is a private local directory it may fill."""
    return _engine(engine)[1](directory, view)
