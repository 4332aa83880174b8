"""In the box: a source whose bytes the slot reads on request, because they lie on the filer."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, cast

from core.errors import SourceFileError, SystemFault
from readers.errors import DocumentError, ExceptionCode
from readers.passwords import Passwords
from worker.box.messages import Head, Open, Question, Read, Reply, Whole
from worker.items.sources import CHUNK

if TYPE_CHECKING:
    from typing_extensions import Buffer

Ask = Callable[[Question], Reply]


class SlotFault(SystemFault):
    """The slot has a fault of the system on its hands; the box only unwinds."""


def checked(reply: Reply) -> Reply:
    """The reply, where it brings something; raises what it says otherwise."""
    if reply.fault:
        raise SlotFault("the slot could not read")
    if reply.error is None:
        return reply
    error = reply.error
    if reply.errno is not None:
        raise SourceFileError(error.code, error.detail, missing=error.missing, errno=reply.errno)
    raise error.raised()


class FarSource:
    """See readers.base.Source."""

    def __init__(self, key: int, name: bytes, size: int, passwords: Passwords, ask: Ask, closed: list[int]) -> None:
        """`closed` gets the numbers of files that are not needed any more."""
        self.name = name
        self.size = size
        self.passwords = passwords
        self._key = key
        self._ask = ask
        self._closed = closed
        self._head: bytes | None = None

    @property
    def head(self) -> bytes:
        if self._head is None:
            self._head = checked(self._ask(Head(self._key))).data
        return self._head

    def open(self) -> BinaryIO:
        file = checked(self._ask(Open(self._key))).file
        return cast("BinaryIO", io.BufferedReader(_FarFile(file, self.size, self._ask, self._closed), CHUNK))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise DocumentError(ExceptionCode.TOO_LARGE, f"{self.size} bytes; the limit is {limit}")
        return checked(self._ask(Whole(self._key, limit))).data


class _FarFile(io.RawIOBase):
    """One of the slot's open files; each read is one of the slot's."""

    def __init__(self, file: int, size: int, ask: Ask, closed: list[int]) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._ask = ask
        self._closed = closed
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = checked(self._ask(Read(self._file, self._at, min(len(view), 1 << 26)))).data
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        data = checked(self._ask(Read(self._file, self._at, -1))).data
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = (0, self._at, self._size)[whence]
        if base + offset < 0:
            raise OSError(22, "Invalid argument")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._closed.append(self._file)
        super().close()
