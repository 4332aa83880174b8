"""An installation for one measurement: its own storage root and scratch, removed afterwards."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from controller.labels.rules import surroundings_of
from core.records import JobOptions
from core.settings import Settings
from sql import jobs
from sql.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its target: `value` should be at least it, or at most it with `at_most`."""

    value: float
    unit: str
    target: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


@dataclass(slots=True)
class Figures:
    """All figures of one run, by name; printed and written as they are added."""

    file: Path
    console: Console = field(default_factory=lambda: Console(highlight=False))
    by_name: dict[str, Figure] = field(default_factory=dict)

    def add(self, name: str, figure: Figure) -> None:
        """Add a figure, print its line, and write the file again: an interrupted run leaves what it has."""
        self.by_name[name] = figure
        bound = (
            "" if figure.target is None else f"  ({'≤' if figure.at_most else '≥'} {figure.target:g}: {_word(figure)})"
        )
        self.console.print(f"{name}: {figure.value:,.4g} {figure.unit}{bound}")
        self.file.write_text(json.dumps({n: _plain(f) for n, f in self.by_name.items()}, indent=1) + "\n")

    def show(self) -> None:
        """Print the whole table."""
        table = Table("figure", "value", "unit", "target", "met", "note", box=None, header_style="bold", pad_edge=False)
        for name, f in self.by_name.items():
            target = "" if f.target is None else f"{'≤' if f.at_most else '≥'} {f.target:g}"
            table.add_row(name, f"{f.value:,.4g}", f.unit, target, _word(f), f.note)
        self.console.print(table)


def _word(figure: Figure) -> str:
    return {None: "", True: "met", False: "NOT met"}[figure.met]


def _plain(figure: Figure) -> dict[str, Any]:
    return {
        "value": round(figure.value, 4),
        "unit": figure.unit,
        "target": figure.target,
        "met": figure.met,
        "note": figure.note,
    }


def bare_job(conn: Connection, name: str, *, workers: int = 0, slots: int = 0) -> uuid.UUID:
    """Create a job without custodians and tasks; return its id."""
    job = uuid.uuid4()
    jobs.create_job(
        conn,
        jobs.NewJob(
            id=job,
            name=name,
            client="",
            project="",
            source=b"/",
            device=0,
            inode=0,
            storage=b"/",
            surroundings=surroundings_of(Settings(), b"/").to_json(),
            options=JobOptions(),
            custodians=[],
            tasks=[],
            workers=workers,
            slots=slots,
        ),
    )
    return job


_EVERY_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans below us become our children
_REPEATS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Resources that ended processes used."""

    processor_s: float
    system_s: float  # of it in the kernel
    faults: int  # pages touched for the first time, or copied after a fork
    switches: int  # a processor went to another process


@contextmanager
def spent_below() -> Iterator[list[Spent]]:
    """Measure the resources of all processes that are started in the block and end with it, including those that no
    process waited for."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    out: list[Spent] = []
    before = _children()
    yield out
    out.append(Spent(**{key: value - before[key] for key, value in _children().items()}))


def _children() -> dict[str, Any]:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "processor_s": usage.ru_utime + usage.ru_stime,
        "system_s": usage.ru_stime,
        "faults": usage.ru_minflt,
        "switches": usage.ru_nvcsw + usage.ru_nivcsw,
    }


def used(process: psutil.Process) -> float:
    """Return CPU seconds of a process and its running descendants so far."""
    total = 0.0
    try:
        for one in (process, *process.children(recursive=True)):
            times = one.cpu_times()
            total += times.user + times.system
    except psutil.NoSuchProcess:
        return total
    return total


def microseconds_of(times: int, do: Callable[[], object]) -> float:
    """Return the CPU time of this thread for one call, from the fastest repeat: the effect of other programs on the
    caches does not count."""
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.thread_time_ns()
        for _ in range(times):
            do()
        best = min(best, time.thread_time_ns() - start)
    return best / times / 1000


class Samples:
    """(time since the epoch, CPU seconds) in order of time."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, float]] = []

    def between(self, start: float, end: float) -> float:
        """Return CPU seconds between two moments, as near as the samples are to them."""
        if not self.readings:
            return 0.0
        return self._at(end) - self._at(start)

    def _at(self, moment: float) -> float:
        return max((seconds for when, seconds in self.readings if when <= moment), default=self.readings[0][1])


@contextmanager
def sampled(pid: int) -> Iterator[Samples]:
    """Sample a process and its descendants, several times a second, while the context is open."""
    samples, ended, process = Samples(), threading.Event(), psutil.Process(pid)

    def sample() -> None:
        while not ended.wait(_EVERY_S):
            samples.readings.append((time.time(), used(process)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


EDBENCH = Path(sys.executable).parent / "edbench"
_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class BenchHome:
    """A storage root and scratch of its own, in which `edbench` commands run."""

    directory: Path
    edbench: Path = EDBENCH  # the command, of this checkout or of another

    def environment(self) -> dict[str, str]:
        """Return the user's environment without EDBENCH_*, with this storage root and scratch."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        return kept | {
            "EDBENCH_STORAGE": str(self.directory / "storage"),
            "EDBENCH_SCRATCH": str(self.directory / "scratch"),
        }

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Run one command to its end, with additions to its environment. Raises RuntimeError with its output if it
        fails."""
        done = subprocess.run(
            [str(self.edbench), *arguments],
            env=self.environment() | dict(env or {}),
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"edbench {' '.join(arguments)} gave {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def discover(self, corpus: Path, *options: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Run a discovery job; return its result."""
        target = self.directory / "r.json"
        output = ("--json",) if self._flat() else ("-o", "json", "--output-file")
        self.run("discover", str(corpus), *output, str(target), *options, env=env)
        return dict(json.loads(target.read_text()))

    def delete(self, job: str) -> None:
        """Delete a job that has ended."""
        self.run(*(() if self._flat() else ("job",)), "delete", job)

    def _flat(self) -> bool:
        """Return whether the checkout is from before the commands were grouped, as cb7c1049 is."""
        return "--json FILE" in self.run("discover", "--help")


@contextmanager
def bench_home() -> Iterator[BenchHome]:
    """Create a home, on the file system of the temporary directory, and remove it afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="edbench-bench-"))
    directory.chmod(0o711)
    try:
        yield BenchHome(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
