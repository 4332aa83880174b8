"""Data of the test `dedup`: files of each type, what deduplication can save of them, and the processes that write them.

Fixed chunks start at multiples of their size in each file. Content-defined chunks are FastCDC's (Xia et al., "The
design of fast content-defined chunking for data deduplication based storage systems", IEEE TPDS 31, 2020) by pyfastcdc.
Chunks are compared by 64 bits of BLAKE2b; of very many, those are kept whose hash is a multiple of a power of two
(Gibbons, "Distinct sampling", VLDB 2001), so that all copies of a chunk are kept or none.

Files are streams: the same bytes for the same seed. Zeros, random, scientific, backups and snapshots are the series of
the corpus profiles of report R5 (`dataset_gen`); the discovery corpus is profile `reference`, generated below a
directory first; `own` is the content of a directory.

A writer is a process with its share of the files: it reads a Spec from standard input, prints a line when it is ready,
starts at the given moment, and prints a Wrote. It ends with its parent."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from core.errors import EdbenchError, RunFailed, StorageFault, read_problem
from core.operations import Op
from core.records import FsyncPolicy
from core.services.process import LineProcess, answer, answer_error, answers
from core.storage.layer import Storage
from experiments.report import words
from monitoring.machine import processors
from storage_tests.tally import Counted, Tally, added, merged

FIXED = (4096, 8192, 131_072)  # bytes
CDC = 8192  # bytes; a chunk is from a quarter to eight times of it
_CDC_LEAST, _CDC_MOST = CDC // 4, CDC * 8
_MOST_KEPT = 1 << 18  # chunks: an error of at most 0.3 % in two of three cases
_WHOLLY = 64  # chunks that are all compressed; above this, one in sixteen is
_LEVEL = 1  # of zlib


def ratio_text(value: float | None) -> str:
    """Write a ratio as reports do: 1:2.80."""
    return "not known" if value is None else f"1:{words.figure(value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Expected savings for one way to cut."""

    cut: str  # "4K", "8K", "128K", "CDC"
    bytes: int
    chunks: int
    different_bytes: int  # bytes of different chunks; estimated from `share` of them
    share: float
    compressed_to: float  # compressed bytes of a different chunk by zlib ÷ its bytes; 1: not compressible

    @property
    def ratio(self) -> float:
        """Bytes written for each byte of a different chunk."""
        return self.bytes / self.different_bytes if self.different_bytes else 1.0

    @property
    def with_compression(self) -> float:
        """The ratio if different chunks are also compressed."""
        return self.ratio / self.compressed_to


class Distinct:
    """Counts chunks and different chunks."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most, self._mask = most, 0
        self._kept: dict[int, tuple[int, int]] = {}  # hash → bytes, compressed bytes (0: not compressed)
        self.bytes = self.chunks = 0

    def add(self, chunk: bytes | memoryview) -> None:
        """Count one more chunk."""
        size = len(chunk)
        self.bytes += size
        self.chunks += 1
        digest = int.from_bytes(hashlib.blake2b(chunk, digest_size=8).digest(), "big")
        if digest & self._mask or digest in self._kept:
            return
        looked_at = len(self._kept) < _WHOLLY or not digest >> 60
        packed = min(size, len(zlib.compress(chunk, _LEVEL))) if looked_at else 0
        self._kept[digest] = (size, packed)
        while len(self._kept) > self._most:
            self._mask = self._mask << 1 | 1
            self._kept = {one: of for one, of in self._kept.items() if not one & self._mask}

    def expected(self, cut: str) -> Expected:
        """Return the savings expected from the chunks so far."""
        kept = sum(size for size, _ in self._kept.values())
        plain = sum(size for size, packed in self._kept.values() if packed)
        compressed = sum(packed for _, packed in self._kept.values())
        return Expected(
            cut=cut,
            bytes=self.bytes,
            chunks=self.chunks,
            different_bytes=min(self.bytes, kept * (self._mask + 1)),
            share=1 / (self._mask + 1),
            compressed_to=compressed / plain if plain else 1.0,
        )


class _Fixed:
    """Cuts a file's pieces, of any length, at multiples of a size."""

    def __init__(self, size: int) -> None:
        self.size, self.found, self._left = size, Distinct(), b""

    def take(self, piece: bytes) -> None:
        data = self._left + piece if self._left else piece
        whole = len(data) - len(data) % self.size
        view = memoryview(data)
        for start in range(0, whole, self.size):
            self.found.add(view[start : start + self.size])
        self._left = data[whole:]

    def end(self) -> None:
        """End the file: the remaining bytes are a chunk, too."""
        if self._left:
            self.found.add(self._left)
        self._left = b""


class _Stream:
    """A stream of a file's pieces for the library, which also passes them to the fixed cutters."""

    def __init__(self, pieces: Iterator[bytes], seen: Callable[[bytes], None]) -> None:
        self._pieces, self._seen, self._left = pieces, seen, memoryview(b"")

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer and return the number of bytes; 0 at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._seen(piece)
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def expected_of(files: Iterable[Callable[[], Iterator[bytes]]], between: Callable[[], None]) -> tuple[Expected, ...]:
    """Return the expected savings of these files together, reading them once; `between` is called after each."""
    from pyfastcdc import FastCDC  # compiled; only needed for cutting

    fixed = [_Fixed(size) for size in FIXED]
    defined = Distinct()
    cutter = FastCDC(CDC, min_size=_CDC_LEAST, max_size=_CDC_MOST)

    def seen(piece: bytes) -> None:
        for one in fixed:
            one.take(piece)

    for pieces in files:
        for chunk in cutter.cut_stream(_Stream(pieces(), seen)):
            defined.add(chunk.data)
        for one in fixed:
            one.end()
        between()
    return (*(one.found.expected(f"{one.size >> 10}K") for one in fixed), defined.expected("CDC"))


Data = Literal["zeros", "random", "scientific", "backups", "snapshots", "discovery", "own"]
_PROFILES: dict[str, str] = {name: name for name in ("zeros", "random", "scientific", "backups")} | {
    "snapshots": "vm-snapshots"
}
_CORPUS = "reference"
_AT_ONCE = 1 << 20  # bytes read of an existing file
_ALONE = 100_000_000  # bytes of a corpus that one process makes


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file."""

    name: str  # below a directory, with `/` between its parts
    size: int
    pieces: Callable[[], Iterator[bytes]]


def files_of(data: Data, size: int, seed: int, source: Path | None) -> Iterator[DataFile]:
    """Yield all files, in the same order each time: about `size` bytes together, or everything in a directory.

    `source`: the directory of the discovery corpus or the own data. Raises StorageFault."""
    if data in _PROFILES:
        yield from _series(_PROFILES[data], size, seed)
    elif source is not None:
        yield from _lying(source)


def _series(profile: str, size: int, seed: int) -> Iterator[DataFile]:
    from dataset_gen.material.blocks import plan_series, series_blocks
    from dataset_gen.profile import load_profile

    for number, series in enumerate(load_profile(profile).series, 1):
        for file in plan_series(series, seed, size * series.share):
            # Each series counts its files from 0.
            yield DataFile(
                name=f"series {number}/{file.name}", size=file.size, pieces=partial(series_blocks, file, seed)
            )


def _lying(source: Path) -> Iterator[DataFile]:
    """Yield regular files, sorted; links, sockets and the like are no data."""
    for place, directories, names in os.walk(source, onerror=_unreadable):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield DataFile(
                    name=os.path.relpath(path, source), size=os.path.getsize(path), pieces=partial(_read, path)
                )


def _unreadable(error: OSError) -> None:
    raise StorageFault(read_problem(error.filename, error), errno=error.errno or 0) from error


def _read(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(_AT_ONCE):
                yield piece
    except OSError as error:
        _unreadable(error)


def corpus_made(below: Path, size: int, seed: int) -> Path:
    """Generate the discovery corpus of about so many bytes in a new directory. Raises UsageError without the room,
    RunFailed."""
    from dataset_gen.corpus import DATA, generate_corpus  # slow to come
    from dataset_gen.profile import load_profile

    scale = size / load_profile(_CORPUS).raw_bytes
    generate_corpus(below, _CORPUS, scale, seed, 1 if size <= _ALONE else processors(), lambda _done, _all: None)
    return below / DATA


_AHEAD_NS = 50_000_000  # time for the start to reach all writers


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The data to write, and the part of this writer."""

    root: str
    data: Data
    size: int
    seed: int
    source: str | None
    part: int
    parts: int
    io_bytes: int  # of one call
    fsync: str  # none or file


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """Result of one writer, or of all together."""

    files: int
    bytes: int
    began_ns: int  # monotonic
    ended_ns: int
    cpu_s: float
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]  # since the start


def write_all(specs: list[Spec], between: Callable[[], None]) -> Wrote:
    """Run all writers together, started at one moment. Raises RunFailed with the message of the first that failed."""
    with contextlib.ExitStack() as ends:
        processes = []
        for spec in specs:
            processes.append(LineProcess("storage_tests.dedup_data", "writers"))
            ends.callback(processes[-1].end)
            processes[-1].send(spec)
        answers(processes, between)
        start = time.monotonic_ns() + _AHEAD_NS
        for process in processes:
            process.send(start)
        wrote = msgspec.convert(answers(processes, between), list[Wrote])
    return Wrote(
        files=sum(one.files for one in wrote),
        bytes=sum(one.bytes for one in wrote),
        began_ns=start,
        ended_ns=max(one.ended_ns for one in wrote),
        cpu_s=sum(one.cpu_s for one in wrote),
        counted=merged(one for each in wrote for one in each.counted),
        bytes_by_second=added(one.bytes_by_second for one in wrote),
    )


def written(spec: Spec, start_ns: int) -> Wrote:
    """Write this writer's share, from the moment at which all start."""
    tally = Tally((Op.WRITE,))
    tally.begin(start_ns)
    storage = Storage(tally, FsyncPolicy(spec.fsync))
    source = None if spec.source is None else Path(spec.source)
    files = size = 0
    time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
    began, cpu = time.monotonic_ns(), time.process_time()
    made = set[bytes]()
    for file in itertools.islice(files_of(spec.data, spec.size, spec.seed, source), spec.part, None, spec.parts):
        path = os.path.join(os.fsencode(spec.root), os.fsencode(file.name))
        if os.path.dirname(path) not in made:
            made.add(os.path.dirname(path))
            storage.mkdir(os.path.dirname(path))
        with storage.create(path) as out:
            for piece in gathered(file.pieces(), spec.io_bytes):
                out.write(piece)
        files += 1
        size += out.bytes_written
    return Wrote(files=files, bytes=size, began_ns=began, ended_ns=time.monotonic_ns(), cpu_s=time.process_time() - cpu,
                 counted=tally.counted(), bytes_by_second=tally.bytes_by_second())  # fmt: skip


def gathered(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield the same bytes in pieces of `size`; the last one has the rest."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)


def main() -> int:
    """Run the writer; return the exit status."""
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=Spec)
    answer(None)
    if start := sys.stdin.buffer.readline():
        try:
            answer(written(spec, int(start)))
        except EdbenchError as error:
            answer_error(RunFailed(str(error)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
