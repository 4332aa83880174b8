"""What fio's JSON says, cut down to what is told from it; and figures and histograms out of that, by pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import RunFailed
from core.histogram import Histogram, bucket_of
from experiments.profiles.result import Observed
from experiments.result.latency import latency
from experiments.result.schema import Latency

WAYS = ("read", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Reads or writes of a job."""

    ios: int
    bytes: int
    runtime_ms: int
    mean_ns: float  # from the moment it was asked for to its end
    max_ns: int
    bins: dict[str, int]  # fio's histogram: nanoseconds → I/Os


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A job."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FioSeen(Observed):
    """What is observed of a run that is one of fio's."""

    fio: Ran


def ran(document: Mapping[str, Any], directory: Path, log: str, text: str, began: float) -> Ran:
    """Of what fio wrote; raises RunFailed where a job had an error, or what is there is not of fio's."""
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
    """fio's logs have a line for each second and way: milliseconds at its end, I/Os a second or KiB a second."""
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
    """From the start to the end of the last one, in whole milliseconds: fio rounds a job's down and those of its ways up."""
    return max((max(job.runtime_ms, job.read.runtime_ms, job.write.runtime_ms) for job in jobs), default=0) / 1000


def transferred(jobs: Iterable[Done]) -> int:
    """Bytes read and written."""
    return sum(job.read.bytes + job.write.bytes for job in jobs)


def ios(jobs: Iterable[Done]) -> int:
    """Reads and writes."""
    return sum(job.read.ios + job.write.ios for job in jobs)


def mean_us(jobs: Sequence[Done]) -> float | None:
    """Of all I/Os of all jobs: a global mean, no mean of means."""
    every = ios(jobs)
    total = sum(way.mean_ns * way.ios for job in jobs for way in (job.read, job.write))
    return total / every / 1000 if every else None


def latencies(jobs: Sequence[Done]) -> dict[str, Latency]:
    """By op, over all jobs; fio's bins are 1.6 % wide at most and fall into ours of 6.4 %."""
    out = {}
    for name in WAYS:
        ways: list[Way] = [getattr(job, name) for job in jobs]
        if any(way.ios for way in ways):
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
    """I/Os, or bytes, of all jobs in each second. The second in which a job ends is in none: fio logs it or not, as it comes."""
    out: dict[float, float] = {}
    for job in jobs:
        last = round(job.runtime_ms / 1000) - 1
        for second, count, nbytes in job.by_second:
            if second < last:
                out[second] = out.get(second, 0.0) + (nbytes if of_bytes else count)
    return sorted(out.items())
