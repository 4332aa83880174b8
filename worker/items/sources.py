"""Sources that are stored on the filer; see `readers.base.Source`."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.storage.errors import cut_short
from core.storage.files import MAX_READ
from core.storage.layer import ReadFile, Storage
from readers.errors import DocumentError, ExceptionCode, too_large
from readers.passwords import NO_PASSWORDS, Passwords

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK = 1 << 20
_HEAD = 4096
_COMPARED_AT_MOST = 64
_RECENT = 2_000_000_000  # nanoseconds: the coarsest clock of a file system

# Source files that were hashed again in this process, by path and first hash: size, modification and change time then,
# and whether the hash was another. The ranges of a big container are read one by one and hashed together.
_compared: OrderedDict[tuple[bytes, bytes], tuple[int, int, int, bool]] = OrderedDict()


class FilerSource:
    """A file on the filer: a loose file, or (own=True) a child that a worker wrote.

    A loose file that is gone is the document's trouble (SourceFileError); an own file that is gone is ours
    (StorageFault)."""

    def __init__(
        self,
        storage: Storage,
        path: bytes,
        name: bytes,
        size: int,
        *,
        own: bool,
        passwords: Passwords = NO_PASSWORDS,
    ) -> None:
        self.name = name
        self.size = size
        self.passwords = passwords
        self._storage = storage
        self._path = path
        self._own = own
        self._head: bytes | None = None

    @property
    def head(self) -> bytes:
        if self._head is None:
            with self._reading(), self._open() as f:
                self._head = f.pread(min(_HEAD, self.size), 0) if self.size else b""
        return self._head

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn an error of an own file into a fault."""
        try:
            yield
        except SourceFileError as e:
            if self._own:
                raise _lost(self._path, e) from e
            raise

    def _open(self) -> ReadFile:
        try:
            return self._storage.open(self._path)
        except SourceFileError as e:
            if self._own:
                raise _lost(self._path, e) from e
            raise

    def open(self) -> BinaryIO:
        file = self._open()
        return cast(BinaryIO, io.BufferedReader(_OwnFile(file) if self._own else file, CHUNK))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise too_large(f"{self.size} bytes; the limit is {limit}")
        with self._reading(), self._open() as f:
            return f.readall()

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes from the start, a mebibyte a read."""
        with self._open() as f:
            while True:
                with self._reading():
                    chunk = f.read(CHUNK)
                if not chunk:
                    return
                yield chunk

    def content(self) -> bytes | Iterator[bytes]:
        """Return all current bytes: of a small file by one read, of a larger one in pieces."""
        with self._open() as f:
            if f.size <= CHUNK:
                try:
                    return f.readall()
                except SourceFileError as e:  # as `_reading`, whose cost is noticeable for many small files
                    if self._own:
                        raise _lost(self._path, e) from e
                    raise
        return self.chunks()

    def digest(self) -> tuple[bytes, int]:
        """Return sha256 over all bytes, and their actual number. Raises SourceFileError if they are fewer than `size`."""
        state, size = hashlib.sha256(), 0
        for chunk in self.chunks():
            state.update(chunk)
            size += len(chunk)
        if size < self.size:
            raise cut_short(self._path, size, self.size)
        return state.digest(), size


class FoundSource(FilerSource):
    """A source that is read only if its bytes are still those that were found: others are DocumentError `hash_differs`.
    They are read whole, up to `most` bytes; only `head` is not checked."""

    def __init__(self, source: FilerSource, sha256: bytes, most: int) -> None:
        super().__init__(source._storage, source._path, source.name, source.size, own=source._own)
        self._sha256, self._most = sha256, most

    def open(self) -> BinaryIO:
        return io.BytesIO(self.whole(self._most))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise too_large(f"{self.size} bytes; the limit is {limit}")
        with self._reading(), self._open() as f:
            if f.size != self.size:
                raise DocumentError(ExceptionCode.HASH_DIFFERS, f"{f.size} bytes now, {self.size} when it was found")
            data = f.readall()
        if (now := hashlib.sha256(data)).digest() != self._sha256:
            raise hash_differs(now.hexdigest(), self._sha256)
        return data


class HashedSource(FilerSource):
    """A file that is read again after it was hashed: its first `size` bytes, as they are now.

    `whole` hashes what it reads, and so does `open` while the file is read from front to back. `confirm` is called when
    everything was read: it compares size and modification time of a source file, and hashes it once more where these
    differ. A file that has only grown is read as it was. Nobody but the storage changes an own file: it is not read a
    second time to find that out, so of a large one that is read here and there only the size is checked.

    With `ctime_ns`, of before it was hashed, nothing is hashed again unless `confirm` finds another: a write changes
    it, and no program can set it back. It is to be given (`settled`) where the file is read soon after it was
    hashed."""

    def __init__(
        self, source: FilerSource, sha256: bytes, mtime_ns: int | None, *, ctime_ns: int | None = None
    ) -> None:
        super().__init__(
            source._storage, source._path, source.name, source.size, own=source._own, passwords=source.passwords
        )
        self._sha256, self._mtime_ns, self._ctime_ns = sha256, mtime_ns, ctime_ns

    def open(self) -> BinaryIO:
        seen = self._seen if self._ctime_ns is None else None
        opened = self._open()
        if self._own and opened.size < self.size:
            opened.close()
            raise DocumentError(ExceptionCode.HASH_DIFFERS, f"{opened.size} bytes now, {self.size} when it was written")
        file = _OwnFile(opened) if self._own else opened
        return cast(BinaryIO, io.BufferedReader(_HashedFile(file, self.size, seen), CHUNK))

    def whole(self, limit: int) -> bytes:
        """Return all bytes. Raises DocumentError if they are not those that were hashed: `hash_differs` for an own file,
        `changed_during_processing` for a source file."""
        if self.size > limit:
            raise too_large(f"{self.size} bytes; the limit is {limit}")
        with self._reading(), self._open() as f:
            f.size = min(f.size, self.size)
            data = f.readall()
        if self._ctime_ns is None:
            self._seen(hashlib.sha256(data).digest())
        return data

    def confirm(self) -> None:
        """Raise DocumentError(changed_during_processing) unless a source file is still the one that was hashed."""
        if self._own:
            return
        with self._open() as f:
            now = f.size, f.mtime_ns, f.ctime_ns
        if now == (self.size, self._mtime_ns, now[2] if self._ctime_ns is None else self._ctime_ns):
            return
        key = self._path, self._sha256
        before = _compared.pop(key, None)
        if before is None or (before[:3] != now and not before[3]):
            digests: list[bytes] = []
            with io.BufferedReader(_HashedFile(self._open(), self.size, digests.append), CHUNK) as file:
                while file.read(CHUNK):
                    pass
            before = *now, digests != [self._sha256]
        _compared[key] = before
        if len(_compared) > _COMPARED_AT_MOST:
            _compared.popitem(last=False)
        if before[3]:
            raise self._changed()

    def _seen(self, sha256: bytes) -> None:
        if sha256 != self._sha256:
            raise hash_differs(sha256.hex(), self._sha256) if self._own else self._changed()

    def _changed(self) -> DocumentError:
        return DocumentError(
            ExceptionCode.CHANGED_DURING_PROCESSING,
            f"the file changed after it was hashed; its bytes no longer have the sha256 {self._sha256.hex()}",
        )


def settled(file: ReadFile) -> int | None:
    """Return the change time of an open file; None if it is so recent that a further change might have the same."""
    return file.ctime_ns if file.ctime_ns < time.time_ns() - _RECENT else None


def confirm(source: object) -> None:
    """Raise DocumentError(changed_during_processing) if a source file is no longer the one that was hashed."""
    if isinstance(source, HashedSource):
        source.confirm()


def hash_differs(now: str, found: bytes) -> DocumentError:
    """Return the error for bytes that, read again, are not those that were discovered."""
    return DocumentError(ExceptionCode.HASH_DIFFERS, f"sha256 {now} now, {found.hex()} when it was found")


class _OverFile(io.RawIOBase):
    """A file that is read through another."""

    def __init__(self, file: ReadFile | _OwnFile) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


class _HashedFile(_OverFile):
    """The first `size` bytes of a file; `seen`, if any, gets their hash once all were read in their order."""

    def __init__(self, file: ReadFile | _OwnFile, size: int, seen: Callable[[bytes], None] | None) -> None:
        super().__init__(file)
        self._size, self._seen = size, seen
        self._hash, self._hashed = hashlib.sha256(), 0

    def readinto(self, buffer: Buffer, /) -> int:
        at = self._file.tell()
        view = memoryview(buffer).cast("B")[: max(0, self._size - at)]
        count = self._file.readinto(view) if view else 0
        if self._seen is not None and at == self._hashed < self._size:
            self._hash.update(view[:count])
            self._hashed += count
            if self._hashed == self._size or not count:
                self._hashed = self._size
                self._seen(self._hash.digest())
        return count

    def readall(self) -> bytes:
        pieces = []
        while piece := self.read(min(MAX_READ, max(0, self._size - self._file.tell()))):
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_END:
            offset, whence = self._size + offset, os.SEEK_SET
        return super().seek(offset, whence)


class _OwnFile(_OverFile):
    """An own file being read: any error is a fault."""

    _file: ReadFile

    def readinto(self, buffer: Buffer, /) -> int:
        try:
            return self._file.readinto(buffer)
        except SourceFileError as e:
            raise _lost(self._file.path, e) from e

    def readall(self) -> bytes:
        try:
            return self._file.readall()
        except SourceFileError as e:
            raise _lost(self._file.path, e) from e


def _lost(path: bytes, error: SourceFileError) -> StorageFault:
    return StorageFault(
        f"{display_name(path)}, written by this job, cannot be read ({error.detail}); "
        "check that the storage is mounted, then resume the job",
        errno=error.errno,
    )
