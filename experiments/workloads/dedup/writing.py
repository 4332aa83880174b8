"""Writers: processes that make the data and write them, each its share of the files, by the storage layer's own calls.

A process of its own: a Spec on standard input; a line when it is ready; the moment at which all
begin; a Wrote. It dies with its parent.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

import core
from core.errors import EdbenchError, RunFailed
from core.operations import Op
from core.records import FsyncPolicy
from core.services.process import tied
from core.storage.layer import Storage
from experiments.clients.tally import Counted, Tally, merged
from experiments.workloads.dedup.material import Data, files_of

_AHEAD_NS = 50_000_000  # that all know of the start before it
_PROGRAM = "import sys; from experiments.workloads.dedup.writing import main; sys.exit(main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is written, and which part of it by this one."""

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
    """What one writer did, or all together."""

    files: int
    bytes: int
    began_ns: int  # monotonic
    ended_ns: int
    cpu_s: float
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]  # since the start
    error: str = ""  # why it ended early


def write_all(specs: list[Spec], between: Callable[[], None]) -> Wrote:
    """All writers together, begun at one moment; raises RunFailed in the words of the first that could not go on."""
    with contextlib.ExitStack() as ends:
        processes = [_started(spec, ends) for spec in specs]
        for process in processes:
            _line(process, between)
        start = time.monotonic_ns() + _AHEAD_NS
        for process in processes:
            _tell(process, start)
        wrote = [msgspec.json.decode(_line(process, between), type=Wrote) for process in processes]
    if said := next((one.error for one in wrote if one.error), ""):
        raise RunFailed(said)
    seconds = itertools.zip_longest(*(one.bytes_by_second for one in wrote), fillvalue=0)
    return Wrote(
        files=sum(one.files for one in wrote),
        bytes=sum(one.bytes for one in wrote),
        began_ns=start,
        ended_ns=max(one.ended_ns for one in wrote),
        cpu_s=sum(one.cpu_s for one in wrote),
        counted=merged(one for each in wrote for one in each.counted),
        bytes_by_second=tuple(map(sum, seconds)),
    )


def _started(spec: Spec, ends: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(tied([sys.executable, "-c", _PROGRAM]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               cwd=Path(core.__file__).parents[1], start_new_session=True)  # fmt: skip
    ends.callback(_ended, process)
    _tell(process, spec)
    return process


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _tell(process: subprocess.Popen[bytes], what: object) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died: reading from it says so
        process.stdin.write(msgspec.json.encode(what) + b"\n")
        process.stdin.flush()


def _line(process: subprocess.Popen[bytes], between: Callable[[], None]) -> bytes:
    assert process.stdout is not None
    between()
    line = process.stdout.readline()
    if not line:
        raise RunFailed(f"a process that writes died (status {process.wait()}); the run has ended")
    return line


def written(spec: Spec, start_ns: int) -> Wrote:
    """This one's share, from the moment when all begin."""
    tally = Tally((Op.WRITE,))
    tally.begin(start_ns)
    storage = Storage(tally, FsyncPolicy(spec.fsync))
    source = None if spec.source is None else Path(spec.source)
    files = size = 0
    error = ""
    time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
    began, cpu = time.monotonic_ns(), time.process_time()
    made = set[bytes]()
    try:
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
    except EdbenchError as fault:
        error = str(fault)
    return Wrote(files=files, bytes=size, began_ns=began, ended_ns=time.monotonic_ns(), cpu_s=time.process_time() - cpu,
                 counted=tally.counted(), bytes_by_second=tally.bytes_by_second(), error=error)  # fmt: skip


def gathered(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of `size`, the last one with what is left."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)


def _say(out: IO[bytes], what: Any) -> None:
    out.write(msgspec.json.encode(what) + b"\n")
    out.flush()


def main() -> int:
    """The exit status."""
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=Spec)
    _say(sys.stdout.buffer, None)
    start = sys.stdin.buffer.readline()
    if start:
        _say(sys.stdout.buffer, written(spec, int(start)))
    return 0
