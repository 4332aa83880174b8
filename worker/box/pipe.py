"""Messages over a stream socket: eight bytes of length, then the message. read(2) and write(2) only."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("<Q")
MOST_BYTES = 1 << 30  # of a message; the slot's own memory limit comes before
_AT_ONCE = 4 << 20  # a larger message gets memory of its own, which the kernel has to clear: six times the CPU time


class Ended(Exception):
    """The other side is gone."""


class Nonsense(Exception):
    """What came is no message."""


class Pipe:
    """One end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray(_AT_ONCE)
        self._view = memoryview(self._buffer)

    def send(self, message: bytes) -> None:
        """All of it; raises Ended."""
        try:
            written = os.writev(self._descriptor, (_LENGTH.pack(len(message)), message)) - _LENGTH.size
            if written < 0:
                raise Ended
            if written < len(message):
                rest = memoryview(message)[written:]
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Ended from error

    def receive(self) -> memoryview:
        """The next message, to be used before the next call; raises Ended, and Nonsense for one that is too long."""
        got = self._into(self._view, _LENGTH.size)
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > MOST_BYTES:
            raise Nonsense(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if end <= _AT_ONCE:
            if got < end:
                self._into(self._view[got:end], end - got)
            elif got > end:
                raise Nonsense("more than one message")
            return self._view[_LENGTH.size : end]
        whole = memoryview(bytearray(length))
        have = got - _LENGTH.size
        whole[:have] = self._view[_LENGTH.size : got]
        self._into(whole[have:], length - have)
        return whole

    def _into(self, view: memoryview, least: int) -> int:
        """Read at least `least` bytes, and no more than fit; how many. Neither side sends twice in a row, so none
        belong to the next message."""
        got = 0
        while got < least:
            try:
                count = os.readv(self._descriptor, (view[got:],))
            except ConnectionResetError as error:
                raise Ended from error
            if not count:
                raise Ended
            got += count
        return got
