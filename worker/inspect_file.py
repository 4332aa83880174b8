"""Unpacks one loose file without any database, for `edbench inspect`: the same engine, other places to put things.

Runs in a process of its own that may die: what was found before is in the spool file already.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import DocumentError, SourceFileError
from core.ids import item_id
from core.names import json_name
from core.operations import NullRecorder
from core.records import Item, ItemText, JobOptions
from core.storage import Storage
from worker.budget import Budget
from worker.context import NoBreadcrumb
from worker.findings import Findings
from worker.formats.base import Handler, Source
from worker.formats.registry import handler_for
from worker.identify import identify
from worker.loose import loose_row
from worker.sources import FilerSource
from worker.texts import take_text
from worker.unpack import Unpacker

NO_JOB = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A loose file to inspect."""

    path: bytes  # absolute
    relative: bytes  # to the PATH argument
    special: tuple[str, DocumentError] | None = None  # media type and exception of what is no regular file


class Deadline(NoBreadcrumb):
    """Ends this process (SIGALRM, not caught) when one item takes longer than it may."""

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def leave(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


class SpillStore:
    """Children that do not fit into memory go to a temporary directory; the others are not kept at all."""

    def __init__(self, storage: Storage, directory: Path) -> None:
        self._storage = storage
        self._directory = directory

    def _path(self, item: uuid.UUID) -> bytes:
        return os.fsencode(self._directory / item.hex)

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        with open(self._path(item), "wb") as f:
            f.writelines(chunks)
        return None

    def source(self, item: uuid.UUID, name: bytes, size: int) -> Source:
        return FilerSource(self._storage, self._path(item), name, size, own=True)


def inspect_file(loose: Loose, options: JobOptions, spool: Path) -> None:
    """Append one JSON line for each item found to `spool`; children come before what they lie in."""
    with spool.open("a", encoding="utf-8") as out, tempfile.TemporaryDirectory(dir=spool.parent) as scratch:

        def write(line: dict[str, Any]) -> None:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()

        _Inspection(options, write, Path(scratch)).run(loose)


@dataclass(slots=True)
class _Inspection:
    options: JobOptions
    write: Callable[[dict[str, Any]], None]
    scratch: Path
    out: Findings = field(default_factory=Findings)
    texts: dict[uuid.UUID, tuple[str, ItemText]] = field(default_factory=dict)
    storage: Storage = field(default_factory=lambda: Storage(NullRecorder()))
    crumb: Deadline = field(default_factory=Deadline)

    def run(self, loose: Loose) -> None:
        unpacker = Unpacker(
            job=NO_JOB,
            options=self.options,
            store=SpillStore(self.storage, self.scratch),
            crumb=self.crumb,
            out=self.out,
            on_item=self._text,
            convicted={},
            on_done=self._done,
        )
        ident = item_id(NO_JOB, None, loose.relative)
        self.crumb.enter(ident, self.options.limits.item_seconds)
        try:
            source, sha256 = self._read(loose)
            self.crumb.enter(ident, unpacker.seconds(source.size))
            media_type = identify(source, None)
        except SourceFileError as e:
            item = loose_row(NO_JOB, 0, loose.relative)
            unpacker.emit(item, None, handler_for(item.media_type))
            self.out.item_failed(item.id, e)
        else:
            handler = handler_for(media_type)
            item = loose_row(
                NO_JOB,
                0,
                loose.relative,
                media_type=media_type,
                container=handler.container,
                size=source.size,
                sha256=sha256,
            )
            unpacker.emit(item, source, handler)
            unpacker.open(item, source, handler, Budget(self.options.limits, source.size))
        self._done(item)
        self.crumb.leave()

    def _read(self, loose: Loose) -> tuple[FilerSource, bytes]:
        with self.storage.open(loose.path) as f:
            size = f.size
        source = FilerSource(self.storage, loose.path, os.path.basename(loose.relative), size, own=False)
        digest, _ = source.digest()
        return source, digest

    def _text(self, item: Item, source: Source | None, handler: Handler) -> None:
        self.texts[item.id] = take_text(item, source, handler, self.options.limits, self.out)

    def _done(self, item: Item) -> None:
        """Write the item and forget it, so that a mail store of any size needs no memory for its messages."""
        text, row = self.texts.pop(item.id)
        codes: dict[uuid.UUID, set[str]] = defaultdict(set)
        for exception in self.out.exceptions:
            codes[exception.item].add(exception.code.value)
        self.write(line_of(item, text, row, sorted(codes.pop(item.id, set()))))
        self.out.exceptions = [e for e in self.out.exceptions if e.item != item.id]
        self.out.known = {k for k in self.out.known if k[0] != item.id}
        self.out.items.clear()
        self.out.containers.clear()


def line_of(item: Item, text: str, row: ItemText | None, codes: list[str]) -> dict[str, Any]:
    """One item as `inspect --jsonl` prints it."""
    return {
        "container_path": list(item.container_path),
        "id": item.id.hex,
        "parent": item.parent.hex if item.parent else None,
        **json_name(item.name),
        "kind": item.kind.value,
        "container": item.container,
        "media_type": item.media_type,
        "bytes": item.size,
        "sha256": item.sha256.hex() if item.sha256 else None,
        "text_state": row.state.value if row else "failed",
        "pages": row.pages if row else 0,
        "text": text,
        "metadata": row.metadata if row else {},
        "exceptions": codes,
    }
