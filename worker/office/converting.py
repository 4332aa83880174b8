"""Documents to PDF or OpenDocument, many in one process; one that kills or holds up a process costs itself alone.

A process is started for many documents, because starting one takes ten times as long as most documents do. What it has made
when it ends badly stays; the first document that it has not made is then tried by itself, and what becomes of that is final.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from core.errors import StorageFault, SystemFault
from core.services.launch import CANNOT_START
from readers.archives.compressed import skippable
from readers.archives.zip.directory import find_directory, iter_entries
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from readers.records import Limits
from worker.office.engine import Office
from worker.office.kinds import KINDS, PDF, Form
from worker.office.process import Bounds, Ended, convert

_AT_ONCE = 32  # documents of one process …
_BYTES_AT_ONCE = 64_000_000  # … and how much they may be together, on scratch
_LEAST_FREE = 16_000_000  # bytes of scratch: with less what was not made may have had no room
_ZIP = b"PK\x03\x04"
_MEMORY_WORDS = ("bad_alloc", "out of memory", "cannot allocate")


@dataclass(frozen=True, slots=True)
class Document:
    """One that is to be converted."""

    media_type: str
    source: Source
    limits: Limits | None = None  # for it and what is made of it; None: the converter's


Verdict = bytes | DocumentError


@dataclass(slots=True)
class Converter:
    """Converts documents in a directory below `scratch`; `alive` is told time and again that it goes on."""

    office: Office
    scratch: Path
    limits: Limits  # of documents that have none of their own
    alive: Callable[[], None]
    bounds: Bounds = field(default_factory=Bounds)
    form: Form = PDF

    def converted(self, documents: Sequence[Document]) -> Iterator[tuple[int, Verdict]]:
        """The place of each in `documents` and what was made of it, or why there is none; in any order. Raises StorageFault, SystemFault."""
        left, alone = dict(enumerate(documents)), False
        while left:
            chosen = _first(left, 1 if alone else _AT_ONCE)
            ended, verdicts = self._together(chosen)
            final = len(chosen) == 1 or ended.status == 0
            for place in chosen:
                if place in verdicts or final:
                    left.pop(place)
                    yield place, verdicts.get(place) or _fault(ended, self.bounds)
            alone = not final

    def _together(self, chosen: dict[int, Document]) -> tuple[Ended, dict[int, Verdict]]:
        """Those of which something came, in one process."""
        verdicts: dict[int, Verdict] = {}
        try:
            with tempfile.TemporaryDirectory(prefix="office-", dir=self.scratch, ignore_cleanup_errors=True) as name:
                place = Path(name)
                names = self._laid_out(place / "in", chosen, verdicts)
                ended = Ended(0, "")
                if names:
                    ended = convert(self.office, list(names), place, self.bounds, self.alive, self.form.ending)
                    verdicts.update(self._made(place / "out", names, chosen))
                    if len(verdicts) < len(chosen) and shutil.disk_usage(place).free < _LEAST_FREE:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # no document's fault
        except OSError as error:
            raise StorageFault(
                f"{self.scratch} on scratch: {error.strerror}; see that scratch has space, then resume",
                errno=error.errno or 0,
            ) from error
        if ended.status == CANNOT_START:
            raise SystemFault(f"LibreOffice cannot be started: {ended.said.strip()[-200:]}; reinstall it, then resume")
        return ended, verdicts

    def _laid_out(self, directory: Path, chosen: dict[int, Document], verdicts: dict[int, Verdict]) -> dict[str, int]:
        """The documents as files whose names come from us; of those that cannot be read, why."""
        directory.mkdir()
        names: dict[str, int] = {}
        for place, document in chosen.items():
            name = f"{place:06d}{KINDS[document.media_type].suffix}"
            limits = document.limits or self.limits
            try:
                if document.source.size > limits.parse_bytes:
                    detail = f"{document.source.size} bytes; the limit is {limits.parse_bytes}"
                    raise DocumentError(ExceptionCode.TOO_LARGE, detail)
                with document.source.open() as source, (directory / name).open("wb") as target:
                    if document.source.head.startswith(_ZIP):
                        _refuse_bomb(source, document.source.size, limits)
                    source.seek(0)
                    shutil.copyfileobj(source, target, 1 << 20)
            except DocumentError as error:
                verdicts[place] = error
            else:
                names[name] = place
        return names

    def _made(
        self, directory: Path, names: dict[str, int], chosen: dict[int, Document]
    ) -> Iterator[tuple[int, Verdict]]:
        for name, place in names.items():
            most = (chosen[place].limits or self.limits).parse_bytes
            if (made := self._whole(directory / f"{Path(name).stem}.{self.form.ending}", most)) is not None:
                yield place, made

    def _whole(self, path: Path, most: int) -> Verdict | None:
        """What a process that a document may have taken over has left there: a whole file, or nothing."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return None
            if about.st_size > most:
                detail = f"its {self.form.ending.upper()} has {about.st_size} bytes; the limit is {most}"
                return DocumentError(ExceptionCode.TOO_LARGE, detail)
            data = file.read()
        return data if data.startswith(self.form.begins) and self.form.ends in data[-32:] else None


def _refuse_bomb(file: BinaryIO, size: int, limits: Limits) -> None:
    """LibreOffice draws a nearly empty page of a document whose parts are too large, and says nothing. Raises DocumentError
    `expansion_limit`; `truncated` or `corrupt` where the archive's directory is."""
    most, parts = skippable(size, limits), 0
    for entry in iter_entries(file, find_directory(file, size)):
        parts += entry.size
        if parts > most:
            detail = f"its parts have more than {most:,} bytes, the limit for a document of {size:,}"
            raise DocumentError(ExceptionCode.EXPANSION_LIMIT, detail)


def _first(left: dict[int, Document], most: int) -> dict[int, Document]:
    """As many as go into one process, at least one."""
    chosen: dict[int, Document] = {}
    size = 0
    for place, document in left.items():
        size += document.source.size
        if chosen and (len(chosen) >= most or size > _BYTES_AT_ONCE):
            break
        chosen[place] = document
    return chosen


def _fault(ended: Ended, bounds: Bounds) -> DocumentError:
    """Why nothing was made of the one document that a process was for."""
    if ended.status in (-signal.SIGALRM, -signal.SIGXCPU):
        return DocumentError(ExceptionCode.TIMEOUT, f"LibreOffice did not finish within {bounds.seconds:g} CPU seconds")
    if ended.status == -signal.SIGXFSZ:
        return DocumentError(
            ExceptionCode.EXPANSION_LIMIT, f"LibreOffice wrote more than {bounds.scratch_bytes:,} bytes"
        )
    if any(word in ended.said.lower() for word in _MEMORY_WORDS):
        return DocumentError(
            ExceptionCode.MEMORY, f"LibreOffice needs more than {bounds.memory_mb:,} MB of memory for it"
        )
    if ended.status:
        return DocumentError(
            ExceptionCode.KILLED_PARSER, f"LibreOffice died while it converted it (status {ended.status})"
        )
    return DocumentError(ExceptionCode.CORRUPT, "LibreOffice cannot load it")
