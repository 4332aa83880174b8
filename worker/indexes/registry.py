"""Which index engines there are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from core.errors import UsageError
from worker.indexes.base import IndexReader, IndexWriter

# Module, writer and reader. An engine is imported when it is used.
_ENGINES = {
    "tantivy": ("worker.indexes.tantivy_engine", "TantivyWriter", "TantivyReader"),
    "whoosh": ("worker.indexes.whoosh_engine", "WhooshWriter", "WhooshReader"),
}


def _engine(name: str) -> tuple[Callable[[Path], IndexWriter], Callable[[Path, Path], IndexReader]]:
    try:
        where, writer, reader = _ENGINES[name]
    except KeyError:
        raise UsageError(f"there is no index engine {name!r}; take one of {', '.join(_ENGINES)}") from None
    module = importlib.import_module(where)
    return getattr(module, writer), getattr(module, reader)


def load_engine(name: str) -> None:
    """Import it now (before forking, say)."""
    _engine(name)


def new_writer(engine: str, directory: Path) -> IndexWriter:
    """A writer of a fresh shard in a local directory that does not exist yet."""
    return _engine(engine)[0](directory)


def open_reader(engine: str, directory: Path, view: Path) -> IndexReader:
    """A reader of the shard published in `directory`; `view` is a private local directory it may fill."""
    return _engine(engine)[1](directory, view)
