"""Where the numbers of the site `r1` come from, in three lists. All of it is an explanation that reproduces, and no more."""

from __future__ import annotations

from dataclasses import replace

from core.records import JobOptions
from experiments.workloads.discovery.result import Result

KIND = "r1"
SITE = "r1"
SLOTS = 4
INDEX_STREAMS = 5
_TASKS_A_STREAM = 1  # of phase index
_FINER = 8  # than the data are smaller: 2,000 items are 17 for each of 120 slots, and a task of ten is half a run
_LEAST_FILES, _LEAST_BATCH, _LEAST_SPLIT = 3, 30_000, 16_000  # or bytes: else a task's own share is most of it
POINTS = ((1, 10), (1, 30), (2, 30))  # databases, workers; with two databases two simultaneous jobs


def scaled_tasks(times: float, streams: int | None) -> JobOptions:
    """Options with tasks as much smaller as the data are: else one mail store would be as long as the whole run. Those of phase index are
    put together to one for each stream; without a limit of streams to one for each slot, which is none: each makes files of an index."""
    usual, parts = JobOptions(), _FINER * times
    return replace(
        usual,
        batch_bytes=max(_LEAST_BATCH, round(usual.batch_bytes / parts)),
        batch_files=max(_LEAST_FILES, round(usual.batch_files / parts)),
        split_bytes=max(_LEAST_SPLIT, round(usual.split_bytes / parts)),
        index_streams=streams,
        index_tasks=_TASKS_A_STREAM * streams if streams else max(workers for _, workers in POINTS) * SLOTS,
    )


def streams_of(result: Result) -> int | str:
    """Tasks of phase index that a job of it had out at a time."""
    found: int | str = result.conditions.get("configuration", {}).get("index_streams", "not known")
    return found


def parameters(result: Result) -> list[tuple[str, tuple[str, ...]]]:
    """Title and lines of each list, as the rows were run; none where they were run on another site."""
    if (result.conditions.get("emulated_filer") or {}).get("name") != SITE:
        return []
    fitted = (*FITTED, _streams(streams_of(result)))
    return [("From the report", FROM_REPORT), ("Assumed", ASSUMED), ("Fitted", fitted)]


def _streams(streams: int | str) -> str:
    fitted = (
        f"{INDEX_STREAMS} tasks of phase index at a time, of each job, so that indexing takes about as long as in R1"
    )
    if streams == INDEX_STREAMS:
        return f"{fitted}, and those put together to {_TASKS_A_STREAM * INDEX_STREAMS}: a task's own share would be most of it"
    return f"{fitted}; in this experiment: {streams}"


FROM_REPORT = (
    "10 and 30 workers of four slots and two virtual CPUs, on five hosts of 44 cores",
    "one and two database servers of 8 and 2 cores, 3.16 and 2.0 GHz, their files on the same filer",
    "39,000 filer ops/s with the filer's units 99 and 60 % busy, 3 x 1 GbE, disk reads under 5 ms, writes at most 25 ms",
    "45 GB before, two simultaneous jobs over the same data with two databases",
)
ASSUMED = (
    "filer ops of our calls: protocol r1 (docs/filer.md); R1 names none, and its product made other calls",
    "a data set of the profile r1, 22,700 items a GB raw where R1's had 22,200: the reference profile without archives 33 deep",
    "hosts of 9, 9, 9, 9 and 8 cores of equal speed; workers dealt out to them in turn",
    "in phase index the emulated CPUs are charged with a slot's own thread only: the index engine's threads, 91 to 93 % of its CPU"
    " time, are not charged",
    "database times: 2 ms a transaction and 1 ms a row of one core at 3.16 GHz; 2 filer ops a transaction, 0.5 a row",
    "eight servers in each of the filer's two units",
    "a disk for one read in ten, 4 ms, and one write in fifty, 20 ms: the report has the bounds, and not how often",
    "both jobs read one copy of the source; sizes leave index bytes out",
)
FITTED = (
    "a delay of 2.71 ms for each of the 203 metadata ops of a change, and an emulated core 5 times slower than one of speed 1: so that 10 workers are bound by their"
    " 40 slots, and 30 by the filer's metadata unit until indexing begins",
    "filer ops of a call by kind (protocol r1) and the service times of both units: 99 and 58 % busy at 39,900 of the calls that were"
    " made at the peak of earlier runs, whose mix and sizes the filer's ceiling is stated for",
    "in phase index 300 filer ops for each item that is read again and 27 for every 4 kB of index written, most of them of 178 µs: so that about"
    " half of all filer ops are of that phase, as in R1's figure, and the data unit is the busier one in the end",
    "the seed of the data set, that of sixteen with the smallest single task: messages of 4 % of all data, and chains of a tenth of a run,"
    " are in 90 MB and hardly in 45 GB",
    f"tasks of at most {_LEAST_FILES} files, {_LEAST_BATCH:,} bytes or one in {_FINER} K of the usual size, whichever is more, K being the"
    " scale: with larger ones only a few slots were busy at the end of unpacking",
)
STRUCTURE = (
    "One stage of walking, extraction and database together, A, bound by filer and slots; one of indexing, B, whose parallelism is"
    " limited per job. R1's times are those of A = 1.61 h with 30 workers and 3.27 h with 10, B = 3.15 h, and two jobs 2A + B ="
    " 6:22:14. The report itself names the distribution of tasks as the problem."
)
