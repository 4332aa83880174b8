"""What a person may ask for of a measurement. As `controller.jobs.orders` for a discovery: options of the commands, bodies of
the API and the page's forms are made from these fields, so that each is named, bounded and explained here alone.

Nothing here measures, and nothing that does is imported: the commands' help is made from it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.orders import Metavar
from core.document import TEXT, Order
from core.options.bounds import MOST_SECONDS, MOST_SEED
from core.options.choices import DEFAULT_ZONE
from experiments.result.steady import MIN_SECONDS

# Of what may be asked of a discovery, what a study may vary nothing of.
ALIKE = ("single_pass", "index_streams", "time_zone", "fsync", "layout", "index_engine", "filer")
DEFAULT_REPEATS = 5
_NUMBERS = Metavar("N,N,…")
_LEAST_SECONDS = 1.0  # of measurements that tell of kinds of work beside each other, not of a storage

Points = Annotated[str, Field(max_length=200, pattern=TEXT, description="the points"), _NUMBERS]
Repeats = Annotated[int, Field(ge=1, le=100, description="runs of each point; 5 or more are recommended")]
MinSeconds = Annotated[
    float,
    Field(
        ge=1,
        le=MOST_SECONDS,
        description="how long each run has to be; a point with a shorter one is labelled SHORT",
    ),
]
Seed = Annotated[
    int | None, Field(ge=0, le=MOST_SEED, description="of the random order of the points  [default: a new one]")
]
Workers = Annotated[int, Field(ge=1, le=512, description="worker processes to start (embedded services only)")]
Slots = Annotated[int | None, Field(ge=1, le=64, description="slots of each worker  [default: EDBENCH_SLOTS or 4]")]
FilerCache = Annotated[
    str | None,
    Field(
        max_length=40,
        pattern=TEXT,
        description="what the filer itself can cache, such as 16GB; 0B: nothing  [default: EDBENCH_FILER_CACHE]",
    ),
    Metavar("SIZE"),
]


class StudyOrder(Order):
    """What every study of discoveries may be told."""

    slots: Slots = None
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    null_memory: Annotated[
        str | None,
        Field(
            max_length=40,
            pattern=TEXT,
            description="memory that null storage may hold, such as 8GB: larger corpora take several portions"
            "  [default: 60 % of what is free]",
        ),
        Metavar("SIZE"),
    ] = None
    cold: Annotated[bool, Field(description="drop what caches this process may drop, and say what stayed")] = False


class ScaleUpPoints(Order):
    """More and more workers."""

    workers: Points = "1,2,4,8"
    seed: Seed = None


class ScaleOutPoints(Order):
    """The same workers on more and more databases."""

    databases: Points = "1,2"
    workers: Workers = 2
    source_copies: Annotated[bool, Field(description="each job reads a copy of the source of its own")] = False
    seed: Seed = None


class KneePoints(Order):
    """More workers until a bound is broken."""

    max_p99: Annotated[
        str,
        Field(max_length=200, pattern=TEXT, title="Max p99", description="bounds, such as read=20ms,write=40ms"),
        Metavar("OP=TIME,…"),
    ]
    max_workers: Annotated[int, Field(ge=1, le=512, description="the highest load that is tried")] = 32


class JobTypesOrder(Order):
    """The four types of jobs side by side, with each number of workers."""

    workers: Points = "2"
    slots: Slots = None
    time_zone: Annotated[
        str,
        Field(max_length=100, pattern=TEXT, description="of dates that note none, as Europe/Berlin"),
        Metavar("NAME"),
    ] = DEFAULT_ZONE
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = _LEAST_SECONDS
    filer: Annotated[
        str | None, Field(max_length=4_000, pattern=TEXT, description="emulated filer"), Metavar("NAME")
    ] = None
    seed: Seed = None


class R1Order(Order):
    """Report R1's rows on an emulated site."""

    scale: Annotated[
        str, Field(max_length=40, pattern=TEXT, description="of the report's data: 1/500 are 90 MB"), Metavar("1/K")
    ] = "1/500"
    time_scale: Annotated[
        str,
        Field(
            max_length=40,
            pattern=TEXT,
            description="everything takes so many times as long as on the site: 0.5 is twice as fast; auto: as slow as this machine"
            " needs to keep up, see docs/dev/site.md",
        ),
        Metavar("K|auto"),
    ] = "auto"
    index_streams: Annotated[
        int | None,
        Field(
            ge=0,
            le=512,
            description="tasks of phase index at a time, of each job; 0: no limit  [default: as fitted, docs/dev/site.md]",
        ),
    ] = None
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = _LEAST_SECONDS
    seed: Seed = None


class ProfileOrder(Order):
    """What every storage profile may be told beside where it runs and its settings."""

    small: Annotated[bool, Field(description="settings of seconds and megabytes: to see that it works")] = False
    repeats: Repeats = 1
    min_seconds: Annotated[
        float | None,
        Field(
            ge=1,
            le=MOST_SECONDS,
            description="how long each run has to be for a result  [default: the profile's, else 600]",
        ),
    ] = None
    seed: Seed = None
    filer: Annotated[
        str | None,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description="emulated filer that delays our own clients' calls  [default: EDBENCH_FILER]",
        ),
        Metavar("NAME|FILE"),
    ] = None
    filer_cache: FilerCache = None
    yes: Annotated[bool, Field(description="also where it takes over 80 % of the free space")] = False
