"""What a person may ask for of replays and of predictions; as `experiments.orders` for the other studies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.orders import Metavar
from core.document import TEXT, Order
from core.filer.load import profile_names
from core.options.bounds import MOST_RAW_GB, MOST_SEED
from core.options.production import JobType
from experiments.capacity import DEFAULT_RAW_GB
from experiments.kinds.load import LEAST_LEVELS, MOST_LEVELS
from experiments.orders import FilerCache, MinSeconds
from experiments.result.steady import MIN_SECONDS
from replay.plan import MAX_CLIENTS

DEFAULT_WORKERS = "10,30,100"
DEFAULT_DATABASES = "1,2,4"
_MOST_RATE = 10**9
_NUMBERS = Metavar("N,N,…")


class ReplayStudyOrder(Order):
    """Replays of a trace, one after another."""

    clients: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=TEXT,
            description="numbers of client processes, one point each  [default: as recorded]",
        ),
        _NUMBERS,
    ] = None
    pace: Annotated[
        str,
        Field(
            max_length=40,
            pattern=TEXT,
            description="job (a closed loop with the recorded think times), schedule (the recorded start times), max (no think"
            " time), or a schedule so many times as fast, such as x2",
        ),
        Metavar("PACE"),
    ] = "schedule"
    scaling: Annotated[
        str | None,
        Field(
            max_length=40,
            pattern=TEXT,
            description="require a kind of scaling: strong divides one data set among the clients, weak gives each"
            " clone of the trace its own",
        ),
        Metavar("SCALING"),
    ] = None
    max_p99: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=TEXT,
            title="Max p99",
            description="search the largest load whose response p99 stays within bounds, such as read=20ms",
        ),
        Metavar("OP=TIME,…"),
    ] = None
    max_clients: Annotated[
        int, Field(ge=1, le=MAX_CLIENTS, description="the highest load that is tried with --max-p99")
    ] = 32
    levels: Annotated[
        int | None,
        Field(ge=LEAST_LEVELS, le=MOST_LEVELS, description="offer N levels of load up to the peak, such as 10"),
        Metavar("N"),
    ] = None
    peak: Annotated[
        int | None,
        Field(ge=1, le=_MOST_RATE, description="peak for --levels, in calls/s  [default: measured at full speed]"),
        Metavar("CALLS/S"),
    ] = None
    repeats: Annotated[int, Field(ge=1, le=100, description="repeats of each point; 5 or more are recommended")] = 1
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    filer: Annotated[
        str | None,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description=f"emulated filer: {', '.join(profile_names())}, or for a command a file in TOML; several, as none,titan,"
            " are replayed on one after another  [default: EDBENCH_FILER or none]",
        ),
        Metavar("NAME,NAME,…"),
    ] = None
    workers: Annotated[
        int, Field(ge=1, le=512, description="number of worker processes that run the clients (embedded services)")
    ] = 1
    seed: Annotated[
        int, Field(ge=0, le=MOST_SEED, description="seed of the file contents and of the random order of the points")
    ] = 0


class PredictOrder(Order):
    """Points that were not measured."""

    workers: Annotated[str, Field(max_length=200, pattern=TEXT, description="numbers of workers"), _NUMBERS] = (
        DEFAULT_WORKERS
    )
    databases: Annotated[
        str, Field(max_length=200, pattern=TEXT, description="numbers of database servers"), _NUMBERS
    ] = DEFAULT_DATABASES
    filer: Annotated[
        str | None,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description="filer to predict for: a profile, or (in a command) a TOML file  [default: the calibration's]",
        ),
        Metavar("NAME"),
    ] = None
    job_type: Annotated[JobType, Field(description="type of job to predict; all but discovery require --from")] = (
        JobType.DISCOVERY
    )
    slots: Annotated[
        int | None,
        Field(ge=1, le=64, description="slots per worker  [default: the calibration's; with --site 4]"),
    ] = None
    raw_gb: Annotated[
        float | None,
        Field(
            ge=0.0001,
            le=MOST_RAW_GB,
            title="Raw GB",
            description="size of the data set, of the calibration's kind"
            f"  [default: {DEFAULT_RAW_GB:g}; of a site's data its part]",
        ),
    ] = None
    index_streams: Annotated[
        int | None,
        Field(
            ge=0,
            le=512,
            description="tasks of phase index at a time, per job; 0: no limit  [default: the calibration's]",
        ),
    ] = None
    shard: Annotated[bool, Field(description="split the custodians among the databases")] = False
    one_host: Annotated[
        bool,
        Field(description="everything shares the cores of the calibration; else each worker and server has its own"),
    ] = False
