"""Reads mutants in several processes that may die; a death is noted, its item convicted, and the mutant read again."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.records import JobOptions
from core.settings import Settings
from mutants.originals import Turns
from mutants.reading import Reading, Task, read_all
from readers.errors import ExceptionCode
from worker.inspect.file import read_trace
from worker.slots.slot import preload

_BATCH = 100  # mutants of one process
_MOST_DEATHS = 20  # of one mutant

Lines = dict[str, str | None]  # id of an item → its parent's


@dataclass(slots=True)
class _Process:
    task: Task
    board: mmap.mmap
    deaths: list[str] = field(default_factory=list)  # of the first mutant
    lines: Lines = field(default_factory=dict)  # that were there before they happened


class Run:
    """Reads the mutants with these numbers; `report` gets each reading, in no particular order."""

    def __init__(
        self,
        turns: Turns,
        *,
        seed: int,
        place: Path,
        options: JobOptions,
        memory_mb: int,
        report: Callable[[Reading], None],
    ) -> None:
        self._turns = turns
        self._first = Task(numbers=[], seed=seed, place=place, memory_mb=memory_mb, options=options, convicted={})
        self._report = report
        self._started = 0
        preload(Settings(box=False))

    def read(self, numbers: Sequence[int], processes: int) -> None:
        """Returns when all have been read."""
        batches = [list(numbers[i : i + _BATCH]) for i in range(0, len(numbers), _BATCH)]
        running: dict[int, _Process] = {}
        try:
            while batches or running:
                while batches and len(running) < processes:
                    self._start(running, replace(self._first, numbers=batches.pop(0)))
                pid, status = os.wait()
                if pid in running:
                    self._ended(running, running.pop(pid), status)
        finally:
            for pid in running:
                os.kill(pid, signal.SIGKILL)  # its own child, not waited for yet
                os.waitpid(pid, 0)

    def _start(self, running: dict[int, _Process], task: Task, after: _Process | None = None) -> None:
        place = self._first.place / str(self._started)
        self._started += 1
        place.mkdir(parents=True)
        process = _Process(replace(task, place=place), mmap.mmap(-1, 8))
        process.board[:8] = (task.numbers[0]).to_bytes(8, "little")
        if after is not None:
            process.deaths, process.lines = after.deaths, after.lines
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._child(process)
        running[pid] = process

    def _child(self, process: _Process) -> None:
        status = 1
        try:
            read_all(process.task, self._turns, process.board)
            status = 0
        except BaseException:  # noqa: BLE001  # a forked child must never come back
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _ended(self, running: dict[int, _Process], process: _Process, status: int) -> None:
        task = process.task
        readings = [Reading(**json.loads(line)) for line in task.results.read_text().splitlines()]
        if readings and process.deaths:
            readings[0].findings += process.deaths
            if lost := _lost(process.lines, readings[0].lines, {item.hex for item in task.convicted}):
                readings[0].findings.append(f"siblings lost: {len(lost)}")
        for reading in readings:
            self._report(reading)
        if status == 0:
            shutil.rmtree(task.place)
            return
        if readings:
            process.deaths, process.lines = [], {}
        left = task.numbers[len(readings) :]
        self._died(running, process, replace(task, numbers=left, convicted={} if readings else task.convicted), status)
        shutil.rmtree(task.place)

    def _died(self, running: dict[int, _Process], process: _Process, task: Task, status: int) -> None:
        """Go on behind a death: the mutant again, without the item at which it happened, then the others."""
        if not task.numbers:
            raise RuntimeError(f"a process that had read everything ended with status {status}")
        number = int.from_bytes(process.board[:8], "little")
        assert number == task.numbers[0]
        item = read_trace(process.task.trace).item
        code, what = _cause(status)
        name = self._turns.original(number).name
        process.deaths.append(f"died: {what}")
        process.lines.update(_lines(process.task.spool))
        if item is None or item in task.convicted or len(process.deaths) > _MOST_DEATHS:
            self._report(Reading(number, name, findings=[*process.deaths, "died outside an item, or too often"]))
            rest = replace(task, numbers=task.numbers[1:], convicted={})
            if rest.numbers:
                self._start(running, rest)
            return
        self._start(running, replace(task, convicted={**task.convicted, item: (code, what)}), process)


def _cause(status: int) -> tuple[ExceptionCode, str]:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return ExceptionCode.TIMEOUT, "at the deadline"
    how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    return ExceptionCode.KILLED_PARSER, how


def _lost(before: Lines, after: Lines, convicted: set[str]) -> list[str]:
    """Items that were there before the death and are not now, those in a convicted one left out."""
    lost = []
    for item in before.keys() - after.keys():
        at: str | None = item
        while at is not None and at not in convicted:
            at = before.get(at)
        if at is None:
            lost.append(item)
    return lost


def _lines(spool: Path) -> Lines:
    if not spool.exists():
        return {}
    whole = [line for line in spool.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return {line["id"]: line["parent"] for line in map(json.loads, whole)}
