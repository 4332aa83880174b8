"""fio's job file: what each of its jobs does, written from dataclasses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
    drop: bool = True  # what the page cache holds of its files, before (fio's `invalidate`)
    after: bool = False  # only when all before it have ended
    options: tuple[tuple[str, str], ...] = ()  # more of fio's


def job_file(jobs: Sequence[Job], *, log: str) -> str:
    """Its text. `log`: prefix of the files with bytes a second, by second."""
    common = [
        "[global]",
        "thread=1",
        "create_serialize=0",  # a job meets its files as the job before left them: fio would lay out all of them at the start
        "group_reporting=0",
        "randrepeat=1",
        "norandommap=1",
        "fallocate=none",
        # Else fio takes what malloc gives, 16 bytes into a page, and a copy out of a cache takes two to four times as long.
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
    said = {
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
        said["size"] = str(job.size)
    if len(job.files) > 1 and job.size is not None:
        said |= {"file_service_type": "random", "filesize": str(job.size // len(job.files))}
    if job.read_percent is not None:
        said["rwmixread"] = str(job.read_percent)
    if job.seconds is not None:
        said |= {"time_based": "1", "runtime": str(job.seconds), "ramp_time": str(job.ramp_seconds)}
    if job.most_seconds is not None:
        said["runtime"] = str(job.most_seconds)
    if job.after:
        said["stonewall"] = "1"
    said |= dict(job.options)
    return ["", f"[{job.name}]", *(f"{name}={value}" for name, value in said.items())]
