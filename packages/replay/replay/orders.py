"""The options of a replay; the command and the API take theirs from these fields, as `experiments.orders` for experiments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from controller.jobs.orders import FailIf, Metavar
from core import texts
from core.document import Order, text_field
from core.errors import UsageError
from core.filer.model import filer_help
from core.options import MOST_SEED
from experiments.orders import (
    DEFAULT_REPEATS,
    LEAST_LEVELS,
    MAX_P99,
    MOST_LEVELS,
    FilerCache,
    MinSeconds,
    Repeats,
    StagesText,
)
from experiments.result.steady import MIN_SECONDS
from replay.plan import LEAST_SPEED, MAX_CLIENTS, MOST_SPEED, ReplayChoice

JOB, SCHEDULE, MOST = "job", "schedule", "max"
_TIMES = re.compile(r"[x×]([0-9]{1,7}(?:\.[0-9]{1,6})?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """Options of a replay, except the number of its clients."""

    trace: Path
    paths: tuple[Path, ...]  # absolute
    speed: float = 1.0  # times the recorded one; 0: no think time
    closed: bool = False  # a closed loop with the recorded think times
    shared: bool = False
    seed: int = 0
    not_empty: bool = False  # allow paths that are not empty
    keep: bool = False  # leave the files

    def choice(self, clients: int) -> ReplayChoice:
        """Return the choice for this number of clients. Raises UsageError for a path that is not UTF-8."""
        return ReplayChoice(
            clients=clients,
            paths=tuple(_text(path) for path in self.paths),
            speed=self.speed,
            closed=self.closed,
            shared=self.shared,
            seed=self.seed,
        )


class Pace(NamedTuple):
    """Pace of the calls."""

    speed: float  # times the recorded one; 0: no think time
    closed: bool


def parse_pace(text: str) -> Pace:
    """Parse `job` (a closed loop), `schedule` (as recorded), a schedule faster by a factor such as `x2`, or `max` (no
    think time). Raises UsageError."""
    known = {JOB: Pace(1.0, True), SCHEDULE: Pace(1.0, False), MOST: Pace(0.0, False)}
    if text in known:
        return known[text]
    found = _TIMES.fullmatch(text)
    if found is None or not float(found[1]):
        raise UsageError(f"--pace is {text!r}; use job, schedule, max, or a speed such as x2 or x0.5")
    speed = float(found[1])
    if not LEAST_SPEED <= speed <= MOST_SPEED:
        raise UsageError(f"--pace is {text!r}; use a speed from x{LEAST_SPEED:g} to x{MOST_SPEED:.0f}")
    return Pace(speed, False)


def pace_text(speed: float, closed: bool) -> str:
    """Return the text that `parse_pace` takes."""
    return JOB if closed else {1.0: SCHEDULE, 0.0: MOST}.get(speed, f"x{speed:g}")


def _text(path: Path) -> str:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"--path {str(path)!r} is not UTF-8; give the directory another name") from None
    return str(path)


_MOST_RATE = 10**9
_NUMBERS = Metavar("N,N,…")


class ReplayStudyOrder(Order):
    """Replays of a trace, one after another."""

    clients: Annotated[
        str | None,
        text_field(200, "Replay with these numbers of client processes, one after another.  [default: as recorded]"),
        _NUMBERS,
    ] = None
    pace: Annotated[
        str,
        text_field(
            40,
            "Keep this pace: job (closed loop with the recorded think times), schedule (the recorded start times), max"
            " (no think time), or a factor, such as x2 for a schedule twice as fast.",
        ),
        Metavar("PACE"),
    ] = "schedule"
    stages: StagesText = None
    max_p99: Annotated[str | None, MAX_P99, Metavar("OP=TIME,…")] = None
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
    fail_if: FailIf = None
    filer_cache: FilerCache = None
    filer: Annotated[str | None, text_field(4_000, filer_help("EDBENCH_FILER or none")), Metavar("NAME,NAME,…")] = None
    workers: Annotated[
        int | None,
        Field(ge=1, le=512, description=f"{texts.WORKERS}  [default: all that are connected; 1 without a system]"),
    ] = None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED, description=texts.SEED)] = 0
