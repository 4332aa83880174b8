"""What a person asked for when replaying a trace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.errors import UsageError
from core.records import ReplayChoice
from replay.plan import LEAST_SPEED, MOST_SPEED
from traces.model import TraceHeader

JOB, SCHEDULE, MOST = "job", "schedule", "max"
_TIMES = re.compile(r"[x×]([0-9]{1,7}(?:\.[0-9]{1,6})?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """Everything about a replay beside the number of its clients."""

    trace: Path
    paths: tuple[Path, ...]  # absolute
    speed: float = 1.0  # times the recorded one; 0: no think time
    closed: bool = False  # a closed loop with the recorded think times
    shared: bool = False
    seed: int = 0
    force: bool = False  # also where a path is not empty
    keep: bool = False  # leave the files
    name: str = ""

    def choice(self, clients: int) -> ReplayChoice:
        """As the job's options have it. Raises UsageError for a path that is not UTF-8."""
        return ReplayChoice(
            clients=clients,
            paths=tuple(_text(path) for path in self.paths),
            speed=self.speed,
            closed=self.closed,
            shared=self.shared,
            seed=self.seed,
        )


def default_name(header: TraceHeader, path: Path) -> str:
    """What a replay is called when nobody gave it a name: after the job of the trace, else after its file."""
    job = header.origin.get("job")
    return f"replay of {job[:8] if isinstance(job, str) and job else path.stem}"


class Pace(NamedTuple):
    """When calls are made."""

    speed: float  # times the recorded one; 0: no think time
    closed: bool


def parse_pace(text: str) -> Pace:
    """`job` (a closed loop), `schedule` (as recorded), a schedule so many times as fast such as `x2`, or `max` (no think
    time); raises UsageError."""
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
    """As `parse_pace` takes it."""
    return JOB if closed else {1.0: SCHEDULE, 0.0: MOST}.get(speed, f"x{speed:g}")


def _text(path: Path) -> str:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"--path {str(path)!r} is not UTF-8; give the directory another name") from None
    return str(path)
