"""What a person may ask for of replays; as `experiments.orders` for the other studies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.orders import Metavar
from core.document import TEXT, Order
from core.filer.load import profile_names
from core.options.tuning import MOST_SEED
from experiments.kinds.load import LEAST_LEVELS, MOST_LEVELS
from experiments.orders import DEFAULT_REPEATS, FilerCache, MinSeconds, Repeats
from experiments.result.steady import MIN_SECONDS
from replay.plan import MAX_CLIENTS

_MOST_RATE = 10**9
_NUMBERS = Metavar("N,N,…")


class ReplayStudyOrder(Order):
    """Replays of a trace, one after another."""

    clients: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=TEXT,
            description="Replay with these numbers of client processes, one after another.  [default: as recorded]",
        ),
        _NUMBERS,
    ] = None
    pace: Annotated[
        str,
        Field(
            max_length=40,
            pattern=TEXT,
            description="Keep this pace: job (closed loop with the recorded think times), schedule (the recorded start times), max"
            " (no think time), or a factor, such as x2 for a schedule twice as fast.",
        ),
        Metavar("PACE"),
    ] = "schedule"
    scaling: Annotated[
        str | None,
        Field(
            max_length=40,
            pattern=TEXT,
            description="Refuse other numbers of clients: strong distributes one data set over them, weak gives each clone of the"
            " trace its own.",
        ),
        Metavar("SCALING"),
    ] = None
    max_p99: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=TEXT,
            title="Max p99",
            description="Keep p99 latencies within these bounds, such as read=20ms,write=40ms.",
        ),
        Metavar("OP=TIME,…"),
    ] = None
    max_clients: Annotated[
        int, Field(ge=1, le=MAX_CLIENTS, description="With --max-p99: try at most this many clients.")
    ] = 32
    levels: Annotated[
        int | None,
        Field(ge=LEAST_LEVELS, le=MOST_LEVELS, description="Offer N levels of load up to the peak, such as 10."),
        Metavar("N"),
    ] = None
    peak: Annotated[
        int | None,
        Field(ge=1, le=_MOST_RATE, description="With --levels: assume this peak.  [default: measured at pace max]"),
        Metavar("CALLS/S"),
    ] = None
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: MinSeconds = MIN_SECONDS
    filer_cache: FilerCache = None
    filer: Annotated[
        str | None,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description=f"Emulate filers, one after another: {', '.join(profile_names())}, or (commands only) a TOML file."
            "  [default: EDBENCH_FILER or none]",
        ),
        Metavar("NAME,NAME,…"),
    ] = None
    workers: Annotated[int, Field(ge=1, le=512, description="Start this many workers (embedded services only).")] = 1
    seed: Annotated[
        int, Field(ge=0, le=MOST_SEED, description="Generate the files and order the points randomly from this seed.")
    ] = 0
