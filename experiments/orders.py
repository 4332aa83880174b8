"""Options of a measurement. As `controller.jobs.orders` does for a discovery, these fields define the options of the
commands, bodies of the API and the web UI's forms, so that each is named, bounded and explained here alone.

Nothing here measures, and nothing that does is imported: the commands' help is made from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.distribution import Distribution
from controller.jobs.orders import FailIf, Filer, Metavar, SourceCopies, TimeZone
from core import texts
from core.document import Order, text_field
from core.errors import UsageError
from core.options import DEFAULT_ZONE, MOST_SECONDS, MOST_SEED
from core.settings import numbers
from experiments.result.steady import MIN_SECONDS

# Options of a discovery that an experiment may not vary.
ALIKE = (*Distribution.model_fields, "single_pass", "time_zone", "fsync", "layout", "index_engine", "filer")
TUNED_ALIKE = tuple(name for name in ALIKE if name not in Distribution.model_fields)  # where the distribution varies
DEFAULT_REPEATS = 5
LEAST_LEVELS, MOST_LEVELS = 2, 100  # of kind `load`
_NUMBERS = Metavar("N,N,…")
_LEAST_SECONDS = 1.0  # of measurements that compare kinds of work with each other, not storage

WorkerPoints = Annotated[str, text_field(200, texts.WORKERS), _NUMBERS]
Repeats = Annotated[int, Field(ge=1, le=100, description=texts.REPEATS)]
MinSeconds = Annotated[float, Field(ge=1, le=MOST_SECONDS, description=texts.MIN_SECONDS)]
Seed = Annotated[int | None, Field(ge=0, le=MOST_SEED, description=f"{texts.SEED}  [default: a new one]")]
Workers = Annotated[int, Field(ge=1, le=512, description=texts.WORKERS)]
Slots = Annotated[int | None, Field(ge=1, le=64, description=f"{texts.SLOTS}  [default: EDBENCH_SLOTS or 4]")]
FilerCache = Annotated[str | None, text_field(40, texts.FILER_CACHE), Metavar("SIZE")]
NoBaseline = Annotated[
    bool,
    Field(description="Run no point on null storage; the result is labelled NO BASELINE and has no storage share."),
]
MAX_P99 = text_field(200, "Keep p99 latencies within these bounds, such as read=20ms,write=40ms.", title="Max p99")


class StudyOrder(Order):
    """Options of every experiment of discoveries."""

    slots: Slots = None
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    null_memory: Annotated[
        str | None,
        text_field(
            40,
            "Let null storage use this memory, such as 8GB; larger corpora take several portions."
            "  [default: 60 % of free memory]",
        ),
        Metavar("SIZE"),
    ] = None
    no_baseline: NoBaseline = False
    cold: Annotated[
        bool, Field(description="Drop the caches before each run and report those that cannot be dropped.")
    ] = False
    fail_if: FailIf = None


StagesText = Annotated[
    str | None,
    text_field(
        1_000,
        "Run stages in this order instead, such as 1x5m,4x10m: a load, and the time for which its run is repeated.",
    ),
    Metavar("LOADxTIME,…"),
]


class Axes(Order):
    """Further axes: every combination of them is measured at each point."""

    axis: Annotated[
        list[str] | None,
        Field(description="Vary this option, such as 'fsync=none|task|file'; repeatable."),
        Metavar("NAME=A|B|…"),
    ] = None
    mount_options: Annotated[
        str | None,
        text_field(
            1_000, "Vary the mount, by names in the workers' EDBENCH_REMOUNT, such as 'nconnect=1|4|8' or 'vers=3|4.2'."
        ),
        Metavar("NAME|NAME|…"),
    ] = None


class ScaleUpPoints(Axes):
    """Points with rising numbers of workers."""

    workers: WorkerPoints = "1,2,4,8"
    stages: StagesText = None
    seed: Seed = None


class TunePoints(Order):
    """Settings that distribute tasks, compared by successive halving."""

    workers: Workers = 2
    candidates: Annotated[int, Field(ge=2, le=64, description="Try N settings, drawn randomly from the seed.")] = 8
    setting: Annotated[
        list[str] | None,
        Field(
            description="Try this setting instead, such as 'batch-mb=8 task-order=fair'; repeatable.",
        ),
        Metavar("NAME=VALUE …"),
    ] = None
    seed: Seed = None


class SweepPoints(Axes):
    """Every combination of some axes."""

    workers: Workers = 2
    seed: Seed = None


class ScaleOutPoints(Axes):
    """Points with the same workers on rising numbers of databases."""

    databases: Annotated[str, text_field(200, texts.DATABASES), _NUMBERS] = "1,2"
    workers: Workers = 2
    source_copies: SourceCopies = False
    seed: Seed = None


class KneePoints(Axes):
    """Rising numbers of workers until a bound is broken."""

    max_p99: Annotated[str, MAX_P99, Metavar("OP=TIME,…")]
    max_workers: Annotated[int, Field(ge=1, le=512, description="Try at most this many workers.")] = 32


class _Days(Axes):
    """Matters, each with all types of jobs."""

    slots: Slots = None
    time_zone: TimeZone = DEFAULT_ZONE
    repeats: Repeats = DEFAULT_REPEATS
    filer: Filer = None
    filer_cache: FilerCache = None
    no_baseline: NoBaseline = False
    seed: Seed = None
    fail_if: FailIf = None


class JobTypesOrder(_Days):
    """The four types of jobs next to each other, with each number of workers."""

    workers: WorkerPoints = "2"
    min_seconds: MinSeconds = _LEAST_SECONDS


class DayOrder(_Days):
    """A business day: matters that arrive, at rising rates."""

    matters: Annotated[
        str | None,
        text_field(
            200,
            "Measure these loads, matters a day; 0: each matter alone.  [default: each alone, then search for the highest"
            " load within the bound]",
        ),
        _NUMBERS,
    ] = None
    within: Annotated[
        float,
        Field(
            ge=0.001,
            le=1e9,
            description="Count a discovery as in time if it ends within this many seconds for each GB of its matter.",
        ),
        Metavar("SECONDS"),
    ] = 3_600.0
    business_hours: Annotated[
        float, Field(ge=0.01, le=10_000, description="Let matters arrive for this many hours.")
    ] = 8.0
    compress: Annotated[
        float,
        Field(
            ge=1,
            le=100_000,
            description="Divide the day's length by this factor; each matter then represents one that is larger by it.",
        ),
    ] = 1.0
    matter_clients: Annotated[
        int, Field(ge=1, le=1_000, description="Distribute the matters over this many clients.")
    ] = 4
    workers: Workers = 2
    min_seconds: MinSeconds = MIN_SECONDS


def day_loads(matters: str | None) -> tuple[int, ...]:
    """Return the given loads, each once; empty: the highest load is searched for. Raises UsageError."""
    if matters is None:
        return ()
    wrong = UsageError(f"--matters is {matters!r}; it must be whole numbers, such as 0,4,8", field="matters")
    parts = [part.strip() for part in matters.split(",")]
    if not all(part.isdecimal() and len(part) <= 6 for part in parts):
        raise wrong
    return tuple(sorted({int(part) for part in parts}))


class R1Points(Axes):
    """The rows of report R1: few and many workers on one database, many on two."""

    workers: Annotated[
        str | None, text_field(200, f"{texts.WORKERS}  [default: one and three for every six cores]"), Metavar("N,M")
    ] = None
    source_copies: SourceCopies = False
    seed: Seed = None


def r1_rows(workers: str) -> tuple[int, int]:
    """Return the two numbers of workers of R1's rows. Raises UsageError."""
    counts = numbers(workers, "--workers")
    if len(counts) != 2 or not 1 <= counts[0] < counts[1]:
        raise UsageError(
            f"--workers is {workers!r}; it must be two numbers, the smaller first, such as 10,30", field="workers"
        )
    return counts[0], counts[1]


def fitting_rows(cores: int) -> tuple[int, int]:
    """Return R1's rows for so many cores: its workers had two each, and three times as many ran in the second row as in
    the first."""
    few = max(1, cores // 6)
    return few, 3 * few
