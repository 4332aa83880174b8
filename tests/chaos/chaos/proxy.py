"""A line between the workers and a service that can be cut, frozen (half open) or slowed down."""

import contextlib
import os
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

_PIECE = 1 << 16
_TICK_SECONDS = 0.05
_SLOW_SECONDS = 0.02  # each piece that comes over a slow line waits so long


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a socket listens or is connected to."""

    family: socket.AddressFamily
    address: str | tuple[str, int]


@dataclass(slots=True, eq=False)
class _End:
    """One end of a connection through the line."""

    socket: socket.socket
    other: "_End | None" = None
    unsent: bytearray = field(default_factory=bytearray)


class Line:
    """Forwards every connection that `listen` accepts to `to`. Entering it starts it."""

    def __init__(self, listen: Place, to: Place) -> None:
        self._to = to
        if isinstance(listen.address, str):
            Path(listen.address).unlink(missing_ok=True)
        self._listener = socket.socket(listen.family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(listen.address)
        self._listener.listen(256)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._ends: set[_End] = set()
        self._thread = threading.Thread(target=self._run, name="line", daemon=True)
        self._ending = self._cut = False
        self.frozen = False  # nothing is forwarded, and nobody is told
        self.slow = False

    @property
    def port(self) -> int:
        """Where it listens, of a TCP line."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End it and everything that goes over it."""
        self._ending = True
        self._thread.join()

    def cut(self) -> None:
        """Close every connection there is; new ones may come."""
        self._cut = True

    def _run(self) -> None:
        while not self._ending:
            if self._cut:
                self._cut = False
                for end in list(self._ends):
                    self._drop(end)
            if self.frozen:
                time.sleep(_TICK_SECONDS)
                continue
            for key, events in self._selector.select(_TICK_SECONDS):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, _End) and key.data in self._ends:
                    self._move(key.data, events)
        for end in list(self._ends):
            self._drop(end)
        self._listener.close()
        self._selector.close()

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.socket(self._to.family, socket.SOCK_STREAM)
        try:
            far.connect(self._to.address)
        except OSError:
            near.close()
            far.close()
            return
        one, other = _End(near), _End(far)
        one.other, other.other = other, one
        for end in (one, other):
            end.socket.setblocking(False)
            self._ends.add(end)
            self._selector.register(end.socket, selectors.EVENT_READ, end)

    def _move(self, end: _End, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(end)
            if events & selectors.EVENT_READ:
                self._receive(end)
        except OSError:
            self._drop(end)

    def _receive(self, end: _End) -> None:
        data = end.socket.recv(_PIECE)
        if not data or end.other is None:
            self._drop(end)
            return
        if self.slow:
            time.sleep(_SLOW_SECONDS)
        end.other.unsent += data
        self._send(end.other)

    def _send(self, end: _End) -> None:
        with contextlib.suppress(BlockingIOError):
            while end.unsent:
                del end.unsent[: end.socket.send(end.unsent)]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if end.unsent else 0)
        self._selector.modify(end.socket, wanted, end)

    def _drop(self, end: _End) -> None:
        for one in (end, end.other):
            if one is not None and one in self._ends:
                self._ends.discard(one)
                self._selector.unregister(one.socket)
                one.socket.close()


def unix(directory: Path | str, port: int = 5432) -> Place:
    """PostgreSQL's socket in a directory."""
    return Place(family=socket.AF_UNIX, address=os.path.join(directory, f".s.PGSQL.{port}"))


def tcp(host: str, port: int = 0) -> Place:
    """A TCP address; port 0 for any free one."""
    return Place(family=socket.AF_INET, address=(host, port))
