"""fio, the system's program, as the load generator: its job files, runs and JSON output."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from core.errors import RunFailed, UsageError
from core.histogram import Histogram, bucket_of
from core.services.process import signal_group, tied
from experiments.report import words
from experiments.report.parts import Cell, Section, plotted
from experiments.report.plots import counts_on_x, figure_of, from_zero, legend_right
from experiments.report.style import marker, series_colour
from experiments.result.latency import latency
from experiments.result.schema import Latency, Result
from experiments.result.steady import judged_whole
from experiments.workload import Figure, Turn
from monitoring.machine import processors
from storage_tests.about import ProfileWording
from storage_tests.devices import Tuned
from storage_tests.drift import Drift, drift_of
from storage_tests.owner import storage_errors
from storage_tests.profile import RAW, Arena, Profile, ProfileRun, ProfileSettings, figured, noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A section of the job file. Sizes in bytes."""

    name: str
    does: str  # fio's `rw`: read, write, randrw …
    files: tuple[str, ...]  # "0/volume": of the first path
    block: int
    size: int | None  # of all its files together; None: as large as they are when it begins
    outstanding: int = 1
    read_percent: int | None = None
    seconds: int | None = None  # over and over for so long; None: to the end of its size
    most_seconds: int | None = None  # to the end of its size, but no longer
    ramp_seconds: int = 0
    direct: bool = False
    engine: str = "psync"
    drop: bool = True  # drop its files from the page cache before (fio's `invalidate`)
    after: bool = False  # only when all before it have ended
    options: tuple[tuple[str, str], ...] = ()  # more of fio's


def job_file(jobs: Sequence[Job], *, log: str) -> str:
    """Return the text of the job file. `log`: prefix of the files with bytes a second, by second."""
    common = [
        "[global]",
        "thread=1",
        "create_serialize=0",  # a job meets its files as the job before left them: fio would lay out all of them at the start
        "group_reporting=0",
        "randrepeat=1",
        "norandommap=1",
        "fallocate=none",
        # Otherwise fio uses malloc's address, 16 bytes into a page: copies from a cache take two to four times as long.
        "iomem_align=4096",
        "lat_percentiles=1",
        "clat_percentiles=0",
        "log_avg_msec=1000",
        "per_job_logs=1",
    ]
    return (
        "\n".join([*common, *(line for number, job in enumerate(jobs, 1) for line in _section(job, f"{log}-{number}"))])
        + "\n"
    )


def _section(job: Job, log: str) -> list[str]:
    options = {
        "rw": job.does,
        "filename": ":".join(job.files),
        "bs": str(job.block),
        "iodepth": str(job.outstanding),
        "ioengine": job.engine,
        "direct": str(int(job.direct)),
        "invalidate": str(int(job.drop)),
        "write_iops_log": log,
        "write_bw_log": log,
    }
    if job.size is not None:
        options["size"] = str(job.size)
    if len(job.files) > 1 and job.size is not None:
        options |= {"file_service_type": "random", "filesize": str(job.size // len(job.files))}
    if job.read_percent is not None:
        options["rwmixread"] = str(job.read_percent)
    if job.seconds is not None:
        options |= {"time_based": "1", "runtime": str(job.seconds), "ramp_time": str(job.ramp_seconds)}
    if job.most_seconds is not None:
        options["runtime"] = str(job.most_seconds)
    if job.after:
        options["stonewall"] = "1"
    options |= dict(job.options)
    return ["", f"[{job.name}]", *(f"{name}={value}" for name, value in options.items())]


_EXACT_S = 0.1  # of a thread: from this time on, fio's whole milliseconds are exact enough
WAYS = ("read", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Reads or writes of a job."""

    ios: int
    bytes: int
    runtime_ms: int
    mean_ns: float  # from request to completion
    max_ns: int
    bins: dict[str, int]  # fio's histogram: nanoseconds → I/Os


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Result of one job."""

    name: str
    runtime_ms: int
    cpu: float  # seconds
    read: Way
    write: Way
    by_second: tuple[tuple[float, float, float], ...]  # second since the start, I/Os, bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run of fio."""

    version: str
    job_file: str
    began: float  # wall clock
    jobs: tuple[Done, ...]


def ran(document: Mapping[str, Any], directory: Path, log: str, text: str, began: float) -> Ran:
    """Return the run of fio from its output. Raises RunFailed if a job had an error, or the output is not fio's."""
    try:
        for job in document["jobs"]:
            if job["error"]:
                raise RunFailed(f"fio: job {job['jobname']} had error {job['error']}")
        jobs = tuple(_done(job, directory, f"{log}-{number}") for number, job in enumerate(document["jobs"], 1))
        return Ran(version=document["fio version"], job_file=text, began=began, jobs=jobs)
    except (KeyError, TypeError, ValueError) as error:
        raise RunFailed(
            f"the JSON output of fio lacks a field that this version of edbench requires ({type(error).__name__} {error});"
            " install fio 3.33 or later"
        ) from error


def _done(job: Mapping[str, Any], directory: Path, log: str) -> Done:
    seconds = job["job_runtime"] / 1000
    return Done(
        name=job["jobname"],
        runtime_ms=job["job_runtime"],
        cpu=(job["usr_cpu"] + job["sys_cpu"]) / 100 * seconds,
        read=_way(job["read"]),
        write=_way(job["write"]),
        by_second=_by_second(directory, log),
    )


def _way(data: Mapping[str, Any]) -> Way:
    times = data["lat_ns"]
    return Way(
        ios=int(data["total_ios"]),
        bytes=int(data["io_bytes"]),
        runtime_ms=int(data["runtime"]),
        mean_ns=float(times["mean"]),
        max_ns=int(times["max"]),
        bins={str(at): int(count) for at, count in (times.get("bins") or {}).items()},
    )


def _by_second(directory: Path, log: str) -> tuple[tuple[float, float, float], ...]:
    """Read fio's logs, which have a line for each second and way: milliseconds at its end, I/Os a second or KiB a
    second."""
    ios, kib = (_logged(directory, log, what) for what in ("iops", "bw"))
    return tuple((second, ios.get(second, 0.0), kib.get(second, 0.0) * 1024) for second in sorted({*ios, *kib}))


def _logged(directory: Path, log: str, what: str) -> dict[float, float]:
    out: dict[float, float] = {}
    for file in directory.glob(f"{log}_{what}.*log"):
        for line in file.read_text().splitlines():
            at, value = line.split(",")[:2]
            second = float(max(0, round(int(at) / 1000) - 1))
            out[second] = out.get(second, 0.0) + float(value)
    return out


def elapsed_s(jobs: Iterable[Done]) -> float:
    """Return the time from the start to the end of the last job, in whole milliseconds: fio rounds a job's down and
    those of its ways up."""
    return max((max(job.runtime_ms, job.read.runtime_ms, job.write.runtime_ms) for job in jobs), default=0) / 1000


def of_op(jobs: Sequence[Done], op: str) -> list[Done]:
    """Return the jobs of one operation: a job is named by its operation, a dash, and the number of the thread."""
    return [job for job in jobs if job.name.partition("-")[0] == op]


def busy_s(jobs: Sequence[Done], *, synced: bool) -> float:
    """Return the seconds of the thread that needed longest.

    fio reports a thread's time in whole milliseconds, rounded up, and a file of a megabyte may need no more than one.
    It reports the time spent in calls exactly, but without the sync at the end of writing (fio 3.33)."""
    return max((_thread_s(job, synced=synced) for job in jobs), default=0.0)


def _thread_s(job: Done, *, synced: bool) -> float:
    whole = max(job.read.runtime_ms, job.write.runtime_ms) / 1000
    if whole >= _EXACT_S or (synced and job.write.ios):
        return whole
    return sum(way.mean_ns * way.ios for way in (job.read, job.write)) / 1e9


def transferred(jobs: Iterable[Done]) -> int:
    """Return the bytes read and written."""
    return sum(job.read.bytes + job.write.bytes for job in jobs)


def ios(jobs: Iterable[Done]) -> int:
    """Return the number of reads and writes."""
    return sum(job.read.ios + job.write.ios for job in jobs)


def mean_us(jobs: Sequence[Done]) -> float | None:
    """Return the mean latency of all I/Os of all jobs: a global mean, no mean of means."""
    every = ios(jobs)
    total = sum(way.mean_ns * way.ios for job in jobs for way in (job.read, job.write))
    return total / every / 1000 if every else None


def latencies(jobs: Sequence[Done]) -> dict[str, Latency]:
    """Return latencies by op, over all jobs that have them (a tar has none); fio's bins are 1.6 % wide at most and fall
    into ours of 6.4 %."""
    out = {}
    for name in WAYS:
        ways: list[Way] = [getattr(job, name) for job in jobs]
        if any(way.bins for way in ways):
            longest = max(way.max_ns for way in ways)
            out[name] = latency(sum(w.ios for w in ways), sum(w.bytes for w in ways), 0, _histogram(ways), longest)
    return out


def _histogram(ways: Iterable[Way]) -> Histogram:
    cells: dict[int, int] = {}
    for way in ways:
        for at, count in way.bins.items():
            bucket = bucket_of(int(at))
            cells[bucket] = cells.get(bucket, 0) + count
    return Histogram(cells)


def by_second(jobs: Iterable[Done], *, of_bytes: bool = False) -> list[tuple[float, float]]:
    """Return the I/Os, or bytes, of all jobs in each second. The second in which a job ends is left out: fio does not
    always log it."""
    out: dict[float, float] = {}
    for job in jobs:
        last = round(job.runtime_ms / 1000) - 1
        for second, count, nbytes in job.by_second:
            if second < last:
                out[second] = out.get(second, 0.0) + (nbytes if of_bytes else count)
    return sorted(out.items())


PROGRAM = "fio"
MISSING = "fio is not installed: apt install fio (dnf, zypper, apk: the same name)"
_JOBS, _OUTPUT, _ERRORS, _LOG = "jobs.fio", "output.json", "errors.txt", "run"
_LOOK_S = 0.1
_GRACE_S = 120.0  # beyond what the jobs should take, for laying out files and slow storage to finish


def refuse_without_fio() -> None:
    """Raise UsageError without fio, with how to install it."""
    if shutil.which(PROGRAM) is None:
        raise UsageError(MISSING)


def fio(
    jobs: Sequence[Job],
    paths: Sequence[Path],
    scratch: Path,
    show: Callable[[str], None],
    *,
    expected_s: float | None = None,
) -> Ran:
    """Run the jobs to their end on these paths (`Job.files` begin with the number of one: `0/name`).

    `expected_s`: how long they should take; two minutes after that they are killed. Raises RunFailed with fio's own
    words, also if a job had an error."""
    refuse_without_fio()
    own = scratch / "fio"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    for number, path in enumerate(paths):
        (own / str(number)).symlink_to(path)
    text = job_file(jobs, log=_LOG)
    (own / _JOBS).write_text(text, encoding="utf-8")
    began = time.time()
    _carried_out(own, show, None if expected_s is None else expected_s + _GRACE_S)
    return ran(_document(own), own, _LOG, text, began)


def _carried_out(own: Path, show: Callable[[str], None], most_s: float | None) -> None:
    command = [PROGRAM, "--output-format=json+", f"--output={_OUTPUT}", "--eta=never", _JOBS]
    program = shutil.which(PROGRAM) or PROGRAM
    until = None if most_s is None else time.monotonic() + most_s
    with (own / _ERRORS).open("wb") as errors:
        process = subprocess.Popen(tied([program, *command[1:]]), cwd=own, stdin=subprocess.DEVNULL, stdout=errors,
                                   stderr=errors, env=os.environ | {"LC_ALL": "C"}, start_new_session=True)  # fmt: skip
        try:
            while process.poll() is None:
                if until is not None and time.monotonic() > until:
                    raise RunFailed(f"fio did not end in {most_s:,.0f} s")
                show("")
                time.sleep(_LOOK_S)
        finally:
            if process.poll() is None:
                signal_group(process, signal.SIGKILL)
            process.wait()
    if process.returncode:
        raise RunFailed(f"fio ended with status {process.returncode}: {_last_message(own)}")


def _document(own: Path) -> dict[str, Any]:
    """Return the JSON document that fio wrote; a line of text may precede it."""
    try:
        text = (own / _OUTPUT).read_text(encoding="utf-8")
        document: dict[str, Any] = json.loads(text[text.index("{") :])
    except (OSError, ValueError) as error:
        raise RunFailed(f"fio wrote no readable result ({error}): {_last_message(own)}") from error
    return document


def _last_message(own: Path) -> str:
    """Return the last message that fio printed."""
    lines = [line.strip() for name in (_ERRORS, _OUTPUT) if (own / name).exists()
             for line in (own / name).read_text(errors="replace").splitlines() if line.startswith("fio:")]  # fmt: skip
    return lines[-1] if lines else "no output"


_BLOCK = 1 << 20  # largest write
_AT_ONCE = 4


def written(arena: Arena, names: Sequence[str], size: int, block: int) -> None:
    """Write incompressible files of so many bytes, in whole blocks, and sync them. Raises RunFailed, StorageFault.

    Every byte is written: fio rewrites a file that is too small when the job begins, and omits an incomplete block."""
    each = block * math.gcd(size // block, max(1, _BLOCK // block))
    arena.show(f"writes {len(names):,} files of {words.size(size)}")
    jobs = [
        Job(name=f"file{number}", does="write", files=(name,), block=each, size=size,
            after=number % _AT_ONCE == 0 and number > 0,
            options=(("end_fsync", "1"), ("refill_buffers", "1"), ("randseed", str(number + 1))))
        for number, name in enumerate(names)
    ]  # fmt: skip
    fio(jobs, arena.paths, arena.scratch, arena.show)
    settled(arena)


def settled(arena: Arena) -> None:
    """Sync what was written, so that no run pays for earlier writes. Raises StorageFault."""
    for path in arena.paths:
        with storage_errors(path):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


S = TypeVar("S", bound=ProfileSettings)
SAMPLE_S = 10  # length of `FioRun.samples`
COARSE_S = 0.05  # below this time of an operation, fio's rounding to milliseconds and the threads' starts matter


@dataclass(frozen=True, slots=True, kw_only=True)
class FioOp:
    """One of several operations that follow each other in a run, over all threads."""

    seconds: float  # of the thread that needed longest
    mb_per_s: float | None
    cut: bool  # moved less than whole files: it, or the writing before it, was ended

    @property
    def coarse(self) -> bool:
        """Whether the time was too short for an exact rate."""
        return self.seconds < COARSE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class FioRun(ProfileRun):
    """One run of fio."""

    fio: Ran | None = field(default=None, metadata=RAW)
    synced: bool | None = field(default=None, metadata=RAW)  # the end of writing waited for the storage
    # Bytes of each thread's file, in whole records, where operations follow each other.
    asked: int | None = field(default=None, metadata=RAW)
    tuned: tuple[Tuned, ...] = ()  # scheduler and read-ahead of each path's device meanwhile, where they were set
    ios: int = 0
    bytes: int = 0
    mean_us: float | None = None  # of all I/Os of all jobs, from request to completion
    highest_second: float = 0.0  # bytes in the second with the most: a meter's highest value
    samples: tuple[float, ...] = ()  # I/Os a second, over 10 s each
    drift: Drift | None = None  # over those samples; None: too few
    ops: dict[str, FioOp] = field(default_factory=dict)  # of jobs that are named by an operation


def run_of(seen: FioRun) -> FioRun:
    """Compute the figures of a run from its observations."""
    assert seen.fio is not None
    jobs = seen.fio.jobs
    by_op = {op: of_op(jobs, op) for op in dict.fromkeys(job.name.partition("-")[0] for job in jobs if "-" in job.name)}
    run = figured(
        seen,
        ios=ios(jobs),
        bytes=transferred(jobs),
        mean_us=mean_us(jobs),
        highest_second=max((value for _, value in by_second(jobs, of_bytes=True)), default=0.0),
    )
    if by_op:
        latency = {op: latency for op, own in by_op.items() for latency in latencies(own).values()}
        return replace(run, latency=latency, ops={op: _op(own, seen) for op, own in by_op.items()})
    per_second = by_second(jobs)
    samples = sampled(per_second, seen.elapsed_s)
    return replace(
        run,
        latency=latencies(jobs),
        steady=judged_whole("I/Os", per_second, seen.elapsed_s),
        samples=samples,
        drift=drift_of(samples),
    )


def _op(jobs: Sequence[Done], seen: FioRun) -> FioOp:
    seconds = busy_s(jobs, synced=bool(seen.synced))
    return FioOp(
        seconds=seconds,
        mb_per_s=transferred(jobs) / seconds / 1e6 if seconds > 0 else None,
        cut=any(transferred([job]) < (seen.asked or 0) for job in jobs),
    )


def sampled(per_second: list[tuple[float, float]], elapsed_s: float) -> tuple[float, ...]:
    """Return the mean of each whole 10 s; for the last one without its last second, of which fio may have no sample."""
    whole = int(elapsed_s // SAMPLE_S)
    sums = [0.0] * whole
    for second, amount in per_second:
        if (place := int(second // SAMPLE_S)) < whole:
            sums[place] += amount
    seconds = [min(SAMPLE_S, round(elapsed_s) - 1 - SAMPLE_S * place) for place in range(whole)]
    return tuple(total / length for total, length in zip(sums, seconds, strict=True))


def settings_in(of: Result | ProfileWording) -> dict[str, Any]:
    known = of.surroundings if isinstance(of, ProfileWording) else of.conditions
    settings: dict[str, Any] = known["configuration"]["settings"]
    return settings


IOPS = Figure(name="iops", title="IOPS", of=lambda run: run.ios / run.elapsed_s, headline=True, write=words.count)
MB_PER_S = Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6)


class FioTest(Profile[S]):
    """A storage test whose load fio makes."""

    less: ClassVar[Mapping[str, int]] = {}  # on null storage: settings that may be no larger

    @abstractmethod
    def jobs(self, at: Any, paths: int) -> Sequence[Job]:
        """Return the jobs of one load, on so many paths."""

    def files(self) -> tuple[int, int, int]:
        """Return the files written on each path before the first run: how many, their size in bytes, and their block
        size."""
        return 0, 0, 1

    def expected_s(self, at: Any) -> float | None:
        """Return how long the jobs of a load should take; None: to the ends of their files."""
        return None

    def check(self) -> None:
        """Raise UsageError without fio."""
        refuse_without_fio()

    def on_null(self) -> FioTest[S] | None:
        """Return the test with files that memory holds, for seconds, and without O_DIRECT, which memory does not
        need."""
        smaller = {name: min(getattr(self.settings, name), most) for name, most in self.less.items()}
        return type(self)(self.settings.model_copy(update=smaller | {"direct": False}), self.targets)

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Write the files of every path, sync them and drop them from the page cache."""
        number, size, block = self.files()
        written(arena, [f"{path}/{file}" for path in range(len(arena.paths)) for file in range(number)], size, block)
        yield

    def observe(self, turn: Turn, arena: Arena) -> FioRun:
        """Run the jobs of a load. Raises RunFailed."""
        jobs, expected_s = self.jobs(turn.at, len(arena.paths)), self.expected_s(turn.at)
        done = fio(jobs, arena.paths, arena.scratch, arena.show, expected_s=expected_s)
        elapsed = elapsed_s(done.jobs)
        if not elapsed:
            raise RunFailed("fio did no I/O: the number of files or of seconds is too small")
        cpu = sum(job.cpu for job in done.jobs)
        return FioRun(**noted(turn, done.began, elapsed, cpu, processors()), fio=done)


def rate_by(
    result: Result, axis: str, group: str, figure: Figure, name_of: Callable[[Any], str] | None = None
) -> Section:
    """Show a line for each group: the median of a figure against what was varied, with its interval. `name_of`: the
    name of a load's line; None: `group` with its value."""
    groups: dict[object, list[tuple[int, float, float, float]]] = {}
    for point in result.points:
        load, one = point.at.values(), point.figures.get(figure.name)
        if one is not None:
            low, high = (one.median if end is None else end for end in (one.low, one.high))
            key = load[group] if name_of is None else name_of(point.at)
            groups.setdefault(key, []).append((load[axis], one.median, low, high))
    rows: list[tuple[Cell, ...]] = []
    with figure_of(height=3.2) as (drawn, (axes,)):
        for number, (key, line) in enumerate(groups.items()):
            line = sorted(line)
            xs, ys = [x for x, *_ in line], [y for _, y, _, _ in line]
            around = ([y - low for _, y, low, _ in line], [high - y for _, y, _, high in line])
            axes.errorbar(xs, ys, yerr=around, color=series_colour(number), marker=marker(number), markersize=5, capsize=3,
                          label=f"{group} {key}" if name_of is None else str(key))  # fmt: skip
            rows += [(str(key).removeprefix(f"{group} "), *values) for values in line]
        counts_on_x(axes, [x for line in groups.values() for x, *_ in line], axis)
        axes.set_ylabel(figure.title)
        from_zero(axes)
        if len(groups) > 1:
            legend_right(axes)
    name = f"{figure.name}-by-{axis}"
    best = max((y for line in groups.values() for _, y, _, _ in line), default=0.0)
    sentence = (
        f"{figure.title} by {axis}; the maximum is {words.figure(best)}. Bars are the intervals of the repeats, if any."
    )
    plot = plotted(name, drawn, sentence, (group, axis, figure.name, "low", "high"), rows)
    return Section(anchor=f"by-{axis}", title=f"{figure.title} by {axis}", parts=(plot,))


def as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
