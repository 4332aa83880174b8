"""One process that reads mutants, one after the other, and writes down what was wrong with each reading."""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import tempfile
import time
import traceback
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from core.errors import EdbenchError
from core.records import JobOptions
from mutants.changes import mutated
from mutants.fence import Fence
from mutants.originals import Turns
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState
from worker.inspect.file import Loose, inspect_files, new_trace
from worker.items.findings import ChildCounts, Findings
from worker.items.guard import Guarded
from worker.processes import limit_slot

Convictions = Mapping[uuid.UUID, tuple[ExceptionCode, str]]
_STATES_WITHOUT_A_REASON = {"ok", "guessed", "empty", "no_text_layer", "truncated_by_limit"}
_STATES_WITH_A_REASON = {s.value for s in TextState} - _STATES_WITHOUT_A_REASON
_CODES = {code.value for code in ExceptionCode}


@dataclass(slots=True)
class Reading:
    """What one mutant came to."""

    number: int
    original: str
    items: int = 0
    exceptions: int = 0
    cpu_s: float = 0.0
    peak_mb: int = 0  # resident memory at most, less that before
    findings: list[str] = field(default_factory=list)
    lines: dict[str, str | None] = field(default_factory=dict)  # item → parent, where an earlier process died


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a process is to read, and where it may put things."""

    numbers: list[int]
    seed: int
    place: Path  # its own; exists
    memory_mb: int
    options: JobOptions
    convicted: Convictions  # of the first mutant only

    def file(self, name: str) -> Path:
        return self.place / "in" / name

    @property
    def trace(self) -> Path:
        return self.place / "trace"

    @property
    def spool(self) -> Path:
        return self.place / "spool" / "lines"

    @property
    def results(self) -> Path:
        return self.place / "results"


def mutant(turns: Turns, seed: int, number: int) -> tuple[str, str, bytes]:
    """The name of the original, the file name and the bytes of one mutant; with seed 0 those of the original."""
    original = turns.original(number)
    if seed == 0:
        return original.name, original.file_name, original.data
    random = Random(f"{seed}/{number}")
    others = [turns.original(random.randrange(1 << 20)).data for _ in range(3)]
    return original.name, original.file_name, mutated(random, original.data, others)


def read_all(task: Task, turns: Turns, board: mmap.mmap) -> None:
    """In a process of its own, as an inspecting one is: limits on, nothing but its own place to write to."""
    for name in ("in", "spool", "cwd", "tmp"):
        (task.place / name).mkdir(exist_ok=True)
    os.chdir(task.place / "cwd")
    tempfile.tempdir = str(task.place / "tmp")
    os.environ["TMPDIR"] = tempfile.tempdir
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    limit_slot(task.memory_mb)
    fence, reading = Fence(task.place), Reading(-1, "")
    noting = _Noting()
    fence.put_up()
    with task.results.open("a") as out:
        for position, number in enumerate(task.numbers):
            board[:8] = number.to_bytes(8, "little")
            convicted = task.convicted if position == 0 else {}
            reading = _read(task, turns, number, convicted, noting)
            reading.findings += [f"fence: {what}" for what in fence.noted]
            fence.noted.clear()
            out.write(json.dumps(asdict(reading)) + "\n")
            out.flush()


def _read(task: Task, turns: Turns, number: int, convicted: Convictions, noting: _Noting) -> Reading:
    name, file_name, data = mutant(turns, task.seed, number)
    path = task.file(file_name)
    path.write_bytes(data)
    new_trace(task.trace)
    reading = Reading(number, name)
    noting.found = reading.findings
    before, start = _reset_peak(), time.process_time()
    try:
        loose = Loose(path=bytes(path), relative=os.fsencode(file_name))
        inspect_files([loose], task.options, task.spool, trace=task.trace, convicted=convicted)
    except MemoryError as error:
        reading.findings.append(f"escaped: {where(error)}")
    except Exception as error:  # noqa: BLE001  # the point: what must not come out of it
        reading.findings.append(f"escaped: {where(error)}")
    reading.cpu_s = round(time.process_time() - start, 3)
    reading.peak_mb = max(0, _peak() - before) // 1024
    _judge(task, reading)
    path.unlink()
    task.spool.unlink(missing_ok=True)
    return reading


def _judge(task: Task, reading: Reading) -> None:
    """Hold what came out against what is promised of every file."""
    lines = [json.loads(line) for line in task.spool.read_bytes().split(b"\n") if line] if task.spool.exists() else []
    reading.items = len(lines)
    if not lines or lines[-1]["parent"] is not None:
        reading.findings.append("no line for the loose file")
    if len({line["id"] for line in lines}) != len(lines):
        reading.findings.append("an item has two lines")
    for line in lines:
        codes = line["exceptions"]
        if task.convicted:
            reading.lines[line["id"]] = line["parent"]
        reading.exceptions += len(codes)
        if line["text_state"] in _STATES_WITH_A_REASON and not codes:
            reading.findings.append(f"text {line['text_state']} without an exception: {line['media_type']}")
        if unknown := set(codes) - _CODES:
            reading.findings.append(f"no such code: {unknown}")
        if "\\u0000" in json.dumps(line["metadata"]):
            reading.findings.append(f"NUL in metadata: {line['media_type']}")
    for left in (*(task.place / "cwd").iterdir(), *(task.place / "tmp").iterdir()):
        reading.findings.append(f"left behind: {left.name}")
    if {p.name for p in task.spool.parent.iterdir()} - {"lines"}:
        reading.findings.append("left behind beside the spool")


class _Noting:
    """Notes every error that has no code of its own, with the place where it was raised, and every wrong count."""

    def __init__(self) -> None:
        self.found: list[str] = []
        passed = Guarded.__exit__

        def leave(
            guard: Guarded, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            if isinstance(error, Exception) and not isinstance(error, EdbenchError | DocumentError):
                self.found.append(f"unnamed: {where(error)}")
            passed(guard, kind, error, trace)

        booked = ChildCounts.book

        def book(tally: ChildCounts, item: Any, out: Findings) -> None:
            before = len(out.containers)
            booked(tally, item, out)
            for count in out.containers[before:]:
                known = count.announced is not None and not count.remainder_unknown
                if known and count.announced != count.emitted + count.failed:
                    self.found.append(
                        f"count: {item.media_type} announced {count.announced}, emitted {count.emitted}, failed {count.failed}"
                    )

        Guarded.__exit__ = leave  # type: ignore[method-assign]
        ChildCounts.book = book  # type: ignore[method-assign]


def where(error: BaseException) -> str:
    """Type, text and the last places in our own code of an error."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/site-packages/" not in f.filename]
    last = traceback.extract_tb(error.__traceback__)[-1:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed([*frames[-3:], *last][-4:]))
    return f"{type(error).__name__}: {str(error)[:120]!r} at {places}"


def _reset_peak() -> int:
    """Kilobytes resident now, which is the peak from now on (proc(5), clear_refs)."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _peak()


def _peak() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
