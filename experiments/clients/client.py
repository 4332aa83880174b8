"""One client: makes, reads and removes files or objects one after another, and keeps what became of each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.clients.orders import ClientDone, Order
from experiments.clients.store import Failed, Refused, Store
from experiments.clients.tally import WHOLE_READ, WHOLE_REMOVE, WHOLE_WRITE, Tally
from replay.content import Content
from replay.table import CONTENT_CLASSES

if TYPE_CHECKING:
    from typing_extensions import Buffer

_KINDS = {"write": WHOLE_WRITE, "read": WHOLE_READ, "remove": WHOLE_REMOVE}


def directory_of(client: int, *, shared: bool) -> str:
    """Where a client's files lie."""
    return "shared" if shared else f"client-{client:04d}"


class Client:
    """`compressible`: share of what it writes that is filler."""

    def __init__(self, number: int, store: Store, tally: Tally, seed: int, io_bytes: int, compressible: float) -> None:
        self.number, self.tally = number, tally
        self._store, self._io_bytes = store, io_bytes
        self._content = Content(seed, number, io_bytes)
        self._kind = max(1, round(CONTENT_CLASSES * (1 - compressible)))
        self._content.make((self._kind,))
        self._made: set[str] = set()

    def work(self, order: Order, numbers: Iterator[int]) -> ClientDone:
        """From its start to its last number; errors are counted, none is raised."""
        directory = directory_of(self.number, shared=order.shared_directory)
        self.tally.begin(order.start_ns)
        done = moved = refused = failed = 0
        said: dict[type, str] = {}
        self._wait(order)
        began = time.monotonic_ns()
        for number in numbers:
            try:
                moved += self._one(order, directory, number)
                done += 1
            except Refused as error:
                refused += 1
                said.setdefault(Refused, str(error))
            except Failed as error:
                failed += 1
                said.setdefault(Failed, str(error))
        ended = time.monotonic_ns()
        return ClientDone(client=self.number, began_ns=began, ended_ns=ended, done=done, bytes=moved, refused=refused,
                          failed=failed, said=tuple(said.values()))  # fmt: skip

    def _wait(self, order: Order) -> None:
        start = order.start_ns + (order.delays_ns[self.number] if order.delays_ns else 0)
        while (left := start - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)

    def _one(self, order: Order, directory: str, number: int) -> int:
        name = f"{directory}/{number:09d}" if order.shared_numbers else f"{directory}/{self.number:04d}-{number:06d}"
        if order.deed == "forget":
            self._store.forget(name)
            return 0
        if order.deed == "write" and directory not in self._made:
            self._store.make(directory)
            self._made.add(directory)
        start, moved, error = time.monotonic_ns(), 0, 1
        try:
            moved = self._done(order, name, number)
            error = 0
        finally:
            self.tally.whole(_KINDS[order.deed], start, time.monotonic_ns() - start, moved, error)
        return moved

    def _done(self, order: Order, name: str, number: int) -> int:
        if order.deed == "write":
            return self._store.write(name, order.size, self._pieces(number, order.size))
        if order.deed == "read":
            return self._store.read(name)
        self._store.remove(name)
        return 0

    def _pieces(self, number: int, size: int) -> Iterator[Buffer]:
        bounds = (*range(0, size, self._io_bytes), size)
        for offset, end in pairwise(bounds):
            yield self._content.piece(self._kind, number, offset, end - offset)
