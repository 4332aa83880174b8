"""`make bench-clients`: what the code of our own clients costs (experiments.clients).

Recorded calls by processor second of one client in memory: files of 1 KB, and large ones in calls of 4 KiB. With
`--s3 URL` (an empty prefix; AWS_* variables) PUTs of 1 KB by 32 clients beside plain code with the same library: as many
processes and threads, each with a store of its own, and nothing else. Rounds take turns; medians.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore

from benchmarks.figures import Figure, Figures
from experiments.clients.crowd import Place, crowd
from experiments.clients.objects import connect, place_of, remove_below
from experiments.clients.orders import Order, Spec
from experiments.clients.process import client_of
from monitoring.processes import processors

_CALLS_A_CORE = 50_000
_SHARE = 0.8
_CLIENTS = 32
_KB = 1024
_AHEAD_S = 1.0
_WHOLE = "whole "


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-clients BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--s3", metavar="URL", help="an endpoint, bucket and empty prefix")
    parser.add_argument("--objects", type=int, default=6_400, help="of a round")
    parser.add_argument("--output", type=Path, default=Path("bench-clients.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    for name, files, size, io_bytes in (
        ("files of 1 KB", 5_000, _KB, 4096),
        ("files of 16 MB, 4 KiB a call", 4, 16_000_000, 4096),
    ):
        rates = [_calls_a_core(files, size, io_bytes) for _ in range(arguments.rounds)]
        for deed in ("write", "read"):
            figures.add(f"recorded calls, {deed}, {name}", _rate([rate[deed] for rate in rates]))
    if arguments.s3:
        _add_puts(figures, arguments.s3, arguments.objects, arguments.rounds)
    print()
    figures.show()


def _rate(rates: Sequence[float]) -> Figure:
    note = f"of one core, in memory; {len(rates)} rounds, {min(rates):,.0f} to {max(rates):,.0f}"
    return Figure(value=statistics.median(rates), unit="calls/s", target=_CALLS_A_CORE, note=note)


def _calls_a_core(files: int, size: int, io_bytes: int) -> dict[str, float]:
    """Calls by processor second, the system's part of them with it, by deed."""
    out = {}
    with tempfile.TemporaryDirectory(prefix="edbench-bench-", dir="/dev/shm") as directory:
        spec = Spec(clients=(0,), roots=(directory,), s3=None, seed=1, fsync="none", io_bytes=io_bytes, part_bytes=1 << 23,
                    emulated=False, compressible=0.0)  # fmt: skip
        client = client_of(spec, 0)
        for deed in ("write", "read"):
            order = Order(
                deed=deed, first=0, last=files, size=size, shared_directory=False, shared_numbers=False, start_ns=0
            )
            began = time.process_time()
            done = client.work(order, iter(range(files)))
            counted = client.tally.counted()
            took = time.process_time() - began
            if done.done != files:
                raise RuntimeError(f"{done.said}")
            out[deed] = sum(one.calls for one in counted if not one.label.startswith(_WHOLE)) / took
    return out


def _add_puts(figures: Figures, url: str, objects: int, rounds: int) -> None:
    ours, plain = [], []
    for _ in range(rounds):
        ours.append(_our_puts(url, objects))
        plain.append(_plain_puts(url, objects))
    said = f"{_CLIENTS} clients, {objects:,} objects a round, {rounds} rounds"
    for name, rates in (("ours", ours), ("plain code", plain)):
        note = f"{said}, {min(rates):,.0f} to {max(rates):,.0f}"
        figures.add(f"PUT of 1 KB, {name}", Figure(value=statistics.median(rates), unit="objects/s", note=note))
    share = statistics.median(ours) / statistics.median(plain)
    figures.add("PUT of 1 KB, ours ÷ plain code", Figure(value=share, unit="", target=_SHARE, note=said))


def _our_puts(url: str, objects: int) -> float:
    """Objects a second, from the start to the last client's end."""
    place = place_of(url).below(f"ours-{uuid.uuid4().hex}")
    try:
        with crowd(Place(s3=str(place)), _CLIENTS) as people:
            done = people.do("write", range(objects), _KB, together=True)
    finally:
        remove_below(place)
    if done.files != objects:
        raise RuntimeError(f"{objects - done.files} objects failed")
    return objects / done.elapsed_s


def _plain_puts(url: str, objects: int) -> float:
    """The same without any of ours."""
    place = place_of(url).below(f"plain-{uuid.uuid4().hex}")
    parts, start = min(processors(), _CLIENTS), time.monotonic() + _AHEAD_S * 2
    shares = [range(objects * part // parts, objects * (part + 1) // parts) for part in range(parts)]
    threads = [len(range(part, _CLIENTS, parts)) for part in range(parts)]
    try:
        with multiprocessing.get_context("spawn").Pool(parts) as pool:
            jobs = [(str(place), share, count, start) for share, count in zip(shares, threads, strict=True)]
            ends = pool.starmap(_plain, jobs, chunksize=1)
    finally:
        remove_below(place)
    return objects / (max(ends) - start)


def _plain(url: str, numbers: range, threads: int, start: float) -> float:
    """One process of it; when its last object was there. Raises RuntimeError when it was late."""
    stores = [connect(place_of(url)) for _ in range(threads)]
    heap = iter(numbers)
    data = bytes(_KB)

    def work(thread: int) -> None:
        for number in heap:
            obstore.put(stores[thread], f"{number:09d}", data, use_multipart=False)

    with ThreadPoolExecutor(threads) as pool:
        if (left := start - time.monotonic()) < 0:
            raise RuntimeError("a process of plain code was not up in time")
        time.sleep(left)
        list(pool.map(work, range(threads)))
    return time.monotonic()


if __name__ == "__main__":
    main()
