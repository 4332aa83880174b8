"""Import of strace logs: `import_strace` reads them line by line and writes a trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError, read_problem
from replay.strace import arguments
from replay.strace.book import NOWHERE, NodeBook, normalised
from replay.strace.calls import System
from replay.strace.handlers import HANDLERS, NOT_CARRIED
from replay.strace.lines import EXIT, Event, Halves, Log
from traces.file import TraceWriter
from traces.model import NO_PHASE, Call, Stream, TraceHeader

_PROGRAM = re.compile(r'"((?:[^"\\]|\\.)*)"')
WHAT_IT_TAKES = "create it with: strace -f -ttt -T -o LOG PROGRAM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import."""

    header: TraceHeader
    nodes: int
    log_calls: int  # system calls in the log
    not_carried: Counter[str]
    other: Counter[str]
    elsewhere: int
    unknown_descriptors: int
    malformed: int
    first_malformed: str
    never_ended: int
    steps_back: int  # calls with an earlier time than the preceding call; they were moved to its time


def import_strace(
    log: Path, target: Path, *, under: Sequence[Path] = (), start_directory: Path | None = None
) -> Imported:
    """Write the file calls of the log as a trace; each process or thread becomes a stream.

    `under`: keep only files in these directories; `start_directory`: where the program was started, for logs that do
    not show it. Raises UsageError if the log cannot be read or is not of `strace -f -ttt -T`."""
    roots = [normalised(b"/", str(path.absolute()).encode("utf-8", "surrogateescape")) for path in under]
    place = NOWHERE if start_directory is None else str(start_directory.absolute()).encode("utf-8", "surrogateescape")
    halves = Halves()
    try:
        with log.open("rb") as file, TraceWriter(target) as writer:
            importer = _Import(writer, NodeBook(roots), place, halves)
            importer.read(Log(file, log.name, halves))
            if not halves.calls:
                raise UsageError(f"{log} contains no calls with the times that strace -ttt writes; {WHAT_IT_TAKES}")
            if halves.untimed * 2 > halves.calls:
                raise UsageError(f"{log} has no durations of calls, which strace -T writes; {WHAT_IT_TAKES}")
            return importer.finish()
    except OSError as error:
        raise UsageError(read_problem(log, error)) from error


class _Import:
    def __init__(self, writer: TraceWriter, book: NodeBook, place: bytes, halves: Halves) -> None:
        self._writer = writer
        self._book = book
        self._halves = halves
        self._system = System(book, place, self._take)
        self._streams: dict[int, int] = {}  # process → stream
        self._counts: list[int] = []
        self._last: list[int] = []
        self._first_ns = -1
        self._end_ns = 0
        self._steps_back = 0
        self._program = ""

    def read(self, events: Iterable[Event]) -> None:
        """Read all events, in their order."""
        system, halves = self._system, self._halves
        latest_ns = 0
        for event in events:
            if self._first_ns < 0:
                began = [at for at, _ in halves.open.values()]
                self._first_ns = min([event.start_ns, *began])
            latest_ns = event.start_ns
            process = system.process(event.pid, halves.open)
            if event.name == EXIT:
                system.ended(process, event.start_ns)
            elif event.result.startswith("?"):
                continue
            elif handler := HANDLERS.get(event.name):
                if event.name == "execve" and not self._program:
                    self._program = _program(event)
                try:
                    handler(system, process, event, arguments.split(event.arguments))
                except IndexError:  # an argument is missing: the line was cut
                    halves.reject(f"process {event.pid}", f"{event.name}({event.arguments}")
            else:
                (system.not_carried if event.name in NOT_CARRIED else system.other)[event.name] += 1
        for process in system.processes:
            system.ended(process, latest_ns)

    def _take(self, pid: int, call: Call) -> None:
        stream = self._streams.get(pid)
        if stream is None:
            stream = self._streams[pid] = len(self._counts)
            self._counts.append(0)
            self._last.append(0)
        start = call.start_ns - self._first_ns
        if start < self._last[stream]:
            self._steps_back += 1
            start = self._last[stream]
        self._last[stream] = start
        self._counts[stream] += 1
        self._end_ns = max(self._end_ns, start + call.duration_ns)
        self._writer.add(stream, call._replace(start_ns=start))

    def finish(self) -> Imported:
        """Write the header and the rest of the trace around its calls."""
        if not self._counts:
            raise UsageError("the log contains no calls on the selected files; check --under")
        system, halves = self._system, self._halves
        pids = sorted(self._streams, key=lambda pid: self._streams[pid])
        header = TraceHeader(
            created=self._first_ns / 1e9,
            duration_ns=self._end_ns,
            phases=(NO_PHASE,),
            streams=tuple(
                Stream(worker=f"process {pid}", slot=0, calls=count)
                for pid, count in zip(pids, self._counts, strict=True)
            ),
            origin={"program": self._program, "imported": "strace"},
        )
        self._writer.finish(header, self._book.nodes())
        return Imported(
            header=header,
            nodes=len(self._book),
            log_calls=halves.calls,
            not_carried=+system.not_carried,
            other=system.other,
            elsewhere=system.elsewhere,
            unknown_descriptors=system.unknown_descriptors,
            malformed=halves.malformed,
            first_malformed=halves.first_malformed,
            never_ended=halves.never_ended + len(halves.open),
            steps_back=self._steps_back,
        )


def _program(event: Event) -> str:
    match = _PROGRAM.search(event.arguments)
    return match[1] if match else ""
