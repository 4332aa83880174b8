"""Which index engines there are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from core.errors import StorageFault, UsageError
from worker.indexes.base import META, IndexReader, IndexWriter

_TRIES = 20  # a slot publishes a few times a second at most
# Module, writer and reader. An engine is imported when it is used.
_ENGINES = {
    "tantivy": ("worker.indexes.tantivy_engine", "TantivyWriter", "TantivyReader"),
    "whoosh": ("worker.indexes.whoosh_engine", "WhooshWriter", "WhooshReader"),
}
# Those whose readers several threads may use at once; one of Whoosh's moves the cursors of its files.
SHAREABLE = frozenset(("tantivy",))


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
    """A writer into a local directory that does not exist yet."""
    return _engine(engine)[0](directory)


def open_reader(engine: str, directory: Path, view: Path) -> IndexReader:
    """A reader of the shard published in `directory`; `view` is a private local directory it may fill.

    A slot may publish the shard anew at the same time (the job runs, or the slot does not know yet that it was taken
    over). The files of the state before stay, but another host may see a directory or a meta file as it was, so what
    cannot be opened is opened again if the meta file has changed. Raises StorageFault.
    """
    make = _engine(engine)[1]
    meta = directory / META
    for attempt in range(_TRIES):
        before = _state(meta)
        try:
            return make(directory, view / str(attempt))
        except StorageFault:
            if _state(meta) == before:
                raise
    return make(directory, view / str(_TRIES))


def _state(meta: Path) -> bytes:
    try:
        return meta.read_bytes()
    except OSError:
        return b""
