"""A process with some of a crowd's clients, each in a thread: `python -m experiments.clients.process`, JSON lines both ways.

The first line is its Spec, every other one an Order, each answered by a ProcessDone; it ends with its input.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from core.errors import EdbenchError, UsageError
from core.filer.emulation import emulated_filer
from core.records import FsyncPolicy
from core.settings import read_settings
from core.storage.files import Station
from experiments.clients.client import Client
from experiments.clients.counters import Counters
from experiments.clients.objects import ObjectStore, place_of
from experiments.clients.orders import Order, ProcessDone, Spec, Trouble
from experiments.clients.paths import MOVES, PathStore
from experiments.clients.store import Store
from experiments.clients.tally import WHOLE_READ, WHOLE_WRITE, Tally, merged


def client_of(spec: Spec, number: int, station: Station | None = None) -> Client:
    """One of a spec's; raises UsageError."""
    counter = None if spec.counters is None else Counters(Path(spec.counters), max(spec.clients) + 1).of(number)
    tally = Tally(MOVES if spec.s3 is None else (WHOLE_WRITE, WHOLE_READ), counter)
    store: Store
    if spec.s3 is not None:
        store = ObjectStore(place_of(spec.s3), spec.part_bytes)
    else:
        root = Path(spec.roots[number % len(spec.roots)])
        store = PathStore(root, tally, fsync=FsyncPolicy(spec.fsync), io_bytes=spec.io_bytes, station=station)
    return Client(number, store, tally, spec.seed, spec.io_bytes, spec.compressible)


def obeyed(order: Order, clients: list[Client], pool: ThreadPoolExecutor) -> ProcessDone:
    """All clients have done it."""
    cpu = time.process_time()
    heap = iter(range(order.first, order.last))
    own = (heap if order.shared_numbers else iter(range(order.first, order.last)) for _ in clients)
    done = list(pool.map(lambda client, numbers: client.work(order, numbers), clients, own))
    return ProcessDone(
        clients=tuple(done),
        counted=merged(one for client in clients for one in client.tally.counted()),
        bytes_by_second=_added(client.tally.bytes_by_second() for client in clients),
        cpu_s=time.process_time() - cpu,
    )


def _added(each: Any) -> tuple[int, ...]:
    total: list[int] = []
    for seconds in each:
        total += [0] * (len(seconds) - len(total))
        for second, moved in enumerate(seconds):
            total[second] += moved
    return tuple(total)


def _say(what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    """The exit status: 1 after a Trouble."""
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=Spec)
    try:
        station = emulated_filer(read_settings(os.environ)) if spec.emulated else None
        clients = [client_of(spec, number, station) for number in spec.clients]
    except EdbenchError as error:
        _say(Trouble(error=str(error), usage=isinstance(error, UsageError)))
        return 1
    _say(None)
    with ThreadPoolExecutor(len(clients)) as pool:
        for line in sys.stdin.buffer:
            _say(obeyed(msgspec.json.decode(line, type=Order), clients, pool))
    return 0


if __name__ == "__main__":
    sys.exit(main())
