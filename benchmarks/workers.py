"""`make bench-workers`: the cost of more workers on one machine, alternating with another checkout if one is given.

For 1, 2 and 4 workers of four slots: elapsed, CPU seconds, page faults and context switches an item, for all processes
of the command together. `empty` is the same over one empty file, subtracted: the start of services and workers. With
`--floor`, the pipeline is compared with a program that does only what cannot be avoided. Elapsed counts only on a quiet
machine; CPU seconds of one turn are comparable on any, though a busy one increases all of them."""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import shutil
import statistics
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.driver import EDBENCH, BenchHome, Spent, bench_home, spent_below
from core.names import display_name
from core.records import Limits
from core.storage.layer import Storage
from readers.base import Child, MemorySource, Source
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for
from search.engine import IndexDocument, new_writer
from worker.items.sources import FilerSource

_LIMITS = Limits()
_STORAGE = Storage()
_CHUNK = 1 << 20
_ITEMS_A_BATCH = 200

Written = tuple[str, str, int]  # path, media type, size


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor's work and its duration."""

    seconds: float
    raw_bytes: int
    discovered_bytes: int
    items: int


def _source(path: str, size: int) -> FilerSource:
    return FilerSource(_STORAGE, os.fsencode(path), os.path.basename(os.fsencode(path)), size, own=False)


def _expand(job: tuple[str, str]) -> tuple[int, list[Written]]:
    path, out = job
    size = os.path.getsize(path)
    written: list[Written] = []
    data = Path(path).read_bytes() if size <= 16_000_000 else None
    source: Source = MemorySource(os.fsencode(path), data) if data is not None else _source(path, size)
    hashlib.sha256(data).digest() if data is not None else _source(path, size).digest()
    media_type = identify(source, None)
    written.append((path, media_type, size))
    budget = [max(_LIMITS.expansion_floor, int(_LIMITS.expansion_ratio * size))]
    _children(source, media_type, out, written, 0, budget)
    return size, written


def _children(source: Source, media_type: str, out: str, written: list[Written], depth: int, budget: list[int]) -> None:
    if depth >= _LIMITS.depth or source.size == 0:
        return
    try:
        for child in handler_for(media_type).children(source, _LIMITS):
            taken = _write(child, out, budget)
            if taken is not None:
                path, inner = taken
                kind = identify(inner, child.media_type)
                written.append((path, kind, inner.size))
                _children(inner, kind, out, written, depth + 1, budget)
    except DocumentError:
        return


def _write(child: Child, out: str, budget: list[int]) -> tuple[str, Source] | None:
    if child.data is None and child.stream is None:
        return None
    name = uuid.uuid4().hex
    path = os.path.join(out, name[:2], name)
    state, size = hashlib.sha256(), 0
    try:
        with open(path, "wb", buffering=0) as f:
            for chunk in _chunks(child):
                budget[0] -= len(chunk)
                if budget[0] < 0:
                    break
                state.update(chunk)
                f.write(chunk)
                size += len(chunk)
    except DocumentError:
        pass
    if budget[0] < 0:
        os.remove(path)
        return None
    inner: Source = MemorySource(child.name, child.data) if child.data is not None else _source(path, size)
    return path, inner


def _chunks(child: Child) -> Iterator[bytes]:
    if child.data is not None:
        yield child.data
    elif child.stream is not None:
        while chunk := child.stream.read(_CHUNK):
            yield chunk


def _index(job: tuple[list[Written], str]) -> None:
    batch, directory = job
    writer = new_writer("tantivy", Path(directory) / uuid.uuid4().hex)
    for path, media_type, size in batch:
        handler = handler_for(media_type)
        body = ""
        if not handler.container:
            data = Path(path).read_bytes() if size <= 16_000_000 else None
            source: Source = MemorySource(os.fsencode(path), data) if data is not None else _source(path, size)
            try:
                body = handler.text(source, _LIMITS).text
            except DocumentError:
                body = ""
        name = display_name(os.fsencode(path))
        writer.add(IndexDocument(item=uuid.uuid4(), owner="", body=body, type=media_type, path=name))
    writer.finish()
    writer.close()


def measure(corpus: Path, workspace: Path, processes: int) -> Floor:
    """Run the floor over a corpus; `workspace` is emptied first and should be on the storage root's file system."""
    shutil.rmtree(workspace, ignore_errors=True)
    for number in range(256):
        (workspace / "items" / f"{number:02x}").mkdir(parents=True)
    (workspace / "index").mkdir()
    paths = sorted((p for p in (corpus / "data").rglob("*") if p.is_file()), key=lambda p: -p.stat().st_size)
    context = multiprocessing.get_context("fork")
    start = time.monotonic()
    written: list[Written] = []
    raw = 0
    with context.Pool(processes) as pool:
        for size, children in pool.imap_unordered(_expand, [(str(p), str(workspace / "items")) for p in paths], 4):
            raw += size
            written += children
        batches = [written[i : i + _ITEMS_A_BATCH] for i in range(0, len(written), _ITEMS_A_BATCH)]
        for _ in pool.imap_unordered(_index, [(b, str(workspace / "index")) for b in batches]):
            pass
    seconds = time.monotonic() - start
    loose = {str(p) for p in paths}
    extracted = sum(size for path, _, size in written if path not in loose)
    shutil.rmtree(workspace, ignore_errors=True)
    return Floor(seconds=seconds, raw_bytes=raw, discovered_bytes=raw + extracted, items=len(written))


WORKERS = (1, 2, 4)
_SLOTS = 4


@dataclass(slots=True)
class Runs:
    """Runs of one checkout with one number of workers, in the order of the turns."""

    elapsed: list[float] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)
    empty: list[Spent] = field(default_factory=list)

    def each(self, what: str, items: int) -> float:
        """Return the median for an item, less an empty job."""
        of: list[float] = [
            getattr(job, what) - getattr(start, what) for job, start in zip(self.spent, self.empty, strict=True)
        ]
        return statistics.median(of) / items


def over_best(elapsed: dict[int, list[float]]) -> tuple[float, int]:
    """Return the speed of the most workers relative to the fastest number of them, over pairs of one turn each; and
    that number."""
    best = min(elapsed, key=lambda workers: statistics.median(elapsed[workers]))
    pairs = zip(elapsed[best], elapsed[max(elapsed)], strict=True)
    return statistics.median(fast / most for fast, most in pairs), best


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="make bench-workers BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--scale", default="0.01", help="of the reference corpus")
    parser.add_argument("--repeats", type=int, default=3, help="turns; medians count")
    parser.add_argument("--base", type=Path, help="another checkout, set up: each of its runs before one of ours")
    parser.add_argument("--single-pass", action="store_true")
    parser.add_argument("--floor", action="store_true", help="measure the floor in each turn too")
    arguments = parser.parse_args()
    commands = {"here": EDBENCH}
    if arguments.base is not None:
        commands = {"base": (arguments.base / ".venv/bin/edbench").resolve(), **commands}
    options = ["--single-pass"] if arguments.single_pass else []
    runs = {(of, workers): Runs() for workers in WORKERS for of in commands}
    floors: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    with ExitStack() as stack:
        home = stack.enter_context(bench_home())
        # A database of its own for each: an older checkout does not know the schema of a newer one.
        homes = {
            of: BenchHome(stack.enter_context(bench_home()).directory, edbench) for of, edbench in commands.items()
        }
        corpus = home.directory / "corpus"
        home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", arguments.scale, "--seed", "1")
        items = 0
        for _ in range(arguments.repeats):
            for workers in WORKERS:
                for of in commands:
                    items = _turn(homes[of], corpus, workers, options, runs[of, workers])
                if arguments.floor:
                    plain = measure(corpus, home.directory / "floor", workers * _SLOTS)
                    floors[workers].append(plain.seconds)
    _show(runs, items, list(commands), floors if arguments.floor else {})


def _turn(home: BenchHome, corpus: Path, workers: int, options: list[str], into: Runs) -> int:
    """Run one empty job and one over the corpus; return the number of its items."""
    empty = home.directory / "empty"
    empty.mkdir(exist_ok=True)
    (empty / "file").touch()
    for source, spent in ((empty, into.empty), (corpus, into.spent)):
        with spent_below() as taken:
            result = home.discover(source, "--workers", str(workers), *options)
        spent += taken
        home.delete(str(result["job_id"]))
    into.elapsed.append(float(result["elapsed_s"]))
    return int(result["items"])


def _show(runs: dict[tuple[str, int], Runs], items: int, commands: list[str], floors: dict[int, list[float]]) -> None:
    print(f"{items:,} items; medians of {len(next(iter(runs.values())).elapsed)} turns; an item, without the start\n")
    print("checkout  workers  elapsed s        CPU ms  kernel ms  faults  switches  start: CPU s")
    for (of, workers), each in runs.items():
        ms = [1000 * each.each(what, items) for what in ("processor_s", "system_s")]
        counts = [each.each(what, items) for what in ("faults", "switches")]
        start = statistics.median(spent.processor_s for spent in each.empty)
        elapsed = statistics.median(each.elapsed)
        print(
            f"{of:8}  {workers:7}  {elapsed:9.1f}  {ms[0]:12.2f}  {ms[1]:9.2f}  {counts[0]:6.1f}  {counts[1]:8.1f}  {start:.1f}"
        )
    print()
    for of in commands:
        ratio, best = over_best({workers: runs[of, workers].elapsed for workers in WORKERS})
        print(f"{of}: {WORKERS[-1]} workers over best ({best}): {ratio:.2f}, target 0.95")
        for workers, seconds in floors.items():
            pairs = zip(seconds, runs[of, workers].elapsed, strict=True)
            ratio = statistics.median(plain / elapsed for plain, elapsed in pairs)
            print(f"{of}: floor ratio, {workers} workers: {ratio:.2f}, target 0.9")
    if len(commands) > 1:
        for workers in WORKERS:
            pairs = zip(runs["base", workers].elapsed, runs["here", workers].elapsed, strict=True)
            print(f"here over base, {workers} workers: {statistics.median(b / h for b, h in pairs):.2f} as fast")


if __name__ == "__main__":
    main()
