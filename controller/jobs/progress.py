"""The progress of a running job: the share of the known work that is done, the pace, and the expected end.
Rates, shares and times never promise more than is known."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from core.records import JobOptions, JobState, Phase
from core.texts import many
from sql.jobs import JobProgress, PhaseProgress

GB = 1_000_000_000
_EVIDENCE_SECONDS = 3.0  # of a phase before its end is estimated …
_EVIDENCE_SHARE = 0.02  # … and so much of its work
_LEAST_RATE = 0.05  # GB/hour; less would be shown as 0.0


def gb_per_hour(nbytes: int, seconds: float) -> float:
    """Return 10⁹ bytes an hour; 0.0 if no time has passed."""
    return nbytes / GB / seconds * 3600 if seconds > 0 else 0.0


def per_second(count: int, seconds: float) -> float:
    """Return a rate; 0.0 if no time has passed."""
    return count / seconds if seconds > 0 else 0.0


def share_done(done: int, left: int) -> float:
    """Return the share of the known work of a running job that is done, 0.0 to 0.99."""
    total = done + left
    return min(0.99, done / total) if total > 0 else 0.0


def seconds_left(done: int, left: int, seconds: float) -> float | None:
    """Return the seconds that `left` takes at the pace of `done` so far; None while there is too little to estimate
    from."""
    if done <= 0 or seconds < _EVIDENCE_SECONDS or done < _EVIDENCE_SHARE * (done + left):
        return None
    return left * seconds / done


def percent(share: float) -> str:
    """Format a share of work that is done, rounded down, so that only a job that is over shows 100 %."""
    return f"{int(share * 100)} %"


def duration(seconds: float) -> str:
    """Format seconds: `1 h 02 min`, `3 min 20 s`, `12 s`, `3.5 s`."""
    whole = max(0, round(seconds))
    if whole < 10:
        return f"{max(0.0, seconds):.1f} s"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


class Window:
    """The recent rate of a growing number: growth between the newest reading and one about `seconds` before it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._readings: deque[tuple[float, int]] = deque()  # seconds on any clock that always advances, and the number

    def add(self, at: float, value: int) -> None:
        """Add a reading. A value below the last one (something else is counted now) starts a new series."""
        if self._readings and value < self._readings[-1][1]:
            self._readings.clear()
        self._readings.append((at, value))
        while len(self._readings) > 2 and self._readings[1][0] <= at - self._seconds:
            self._readings.popleft()

    def growth(self) -> tuple[int, float]:
        """Return the growth, and in how many seconds; (0, 0.0) before there are two readings."""
        if len(self._readings) < 2:
            return 0, 0.0
        (began, least), (at, value) = self._readings[0], self._readings[-1]
        return value - least, at - began


NOW_SECONDS = 10.0  # "now" is the mean of so many seconds
# Phases that process known items, and count the processed ones.
_SECOND = frozenset((Phase.INDEX, Phase.OCR, Phase.EXTRACT, Phase.RENDER, Phase.STAMP, Phase.EXPORT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The progress of a job at one moment. Rates are GB/hour of 10⁹ bytes; `now` is over the last seconds."""

    state: JobState
    phase: Phase
    reason: str | None
    items_done: int  # of this phase: rows written, or from the index phase on texts extracted
    items_known: int | None  # None while more may be found
    share: float | None  # of this phase's known work; None while that still grows without end
    tasks_done: int
    tasks_known: int
    raw_gb_per_hour: float  # since the start
    discovered_gb_per_hour: float
    raw_gb_per_hour_now: float  # 0 in the index phase: it finds no new loose file
    discovered_gb_per_hour_now: float  # in the index phase: bytes of tasks done, which read all of it again
    calls_per_second: float
    exceptions: int
    elapsed_s: float
    phase_left_s: float | None  # None: too little to go by
    left_s: float | None  # of the whole job; None while it cannot be known
    then: Phase = Phase.INDEX  # what comes next that takes time
    waiting: tuple[str, ...] = ()  # what slots have been doing for too long
    producing: bool = False  # it takes items of another job: bytes written are shown in place of discovered


class Pace:
    """Makes snapshots of successive progress rows; keeps the readings that the current rates need."""

    def __init__(self, options: JobOptions) -> None:
        not_timed = {Phase.FINALISE, Phase.INDEX} if options.single_pass else {Phase.FINALISE}
        self._producing = options.type.produces
        self._working = [phase for phase in options.phases if phase not in not_timed]
        self._raw = Window(NOW_SECONDS)
        self._discovered = Window(NOW_SECONDS)
        self._phase: Phase | None = None

    def snapshot(self, look: JobProgress, calls_per_second: float, at: float) -> Snapshot:
        """Return the snapshot of `look`, which was taken at second `at` of a monotonic clock."""
        part = look.phases.get(look.phase)
        if look.phase is not self._phase:
            self._raw, self._discovered = Window(NOW_SECONDS), Window(NOW_SECONDS)
            self._phase = look.phase
        indexing = look.phase is Phase.INDEX
        self._raw.add(at, look.raw_bytes)
        self._discovered.add(at, part.weight_done if indexing and part else look.discovered_bytes)
        phase_left = _phase_left(part, look.phase)
        return Snapshot(
            state=look.state,
            phase=look.phase,
            reason=look.reason,
            items_done=look.items_indexed if look.phase in _SECOND else look.items,
            items_known=look.items if look.total_known else None,
            share=_share(part, look),
            tasks_done=part.done if part else 0,
            tasks_known=part.done + part.open if part else 0,
            raw_gb_per_hour=gb_per_hour(look.raw_bytes, look.elapsed_s),
            discovered_gb_per_hour=gb_per_hour(look.discovered_bytes, look.elapsed_s),
            raw_gb_per_hour_now=gb_per_hour(*self._raw.growth()),
            discovered_gb_per_hour_now=gb_per_hour(*self._discovered.growth()),
            calls_per_second=calls_per_second,
            exceptions=look.exceptions,
            elapsed_s=look.elapsed_s,
            phase_left_s=phase_left,
            left_s=phase_left if look.phase is self._working[-1] else None,
            then=self._after(look.phase),
            waiting=look.waiting,
            producing=self._producing,
        )

    def _after(self, phase: Phase) -> Phase:
        """Return the next phase that takes time; after the last of them come only the deletion of leftovers and the
        sync."""
        later = self._working[self._working.index(phase) + 1 :] if phase in self._working else []
        return later[0] if later else Phase.FINALISE


def _share(part: PhaseProgress | None, look: JobProgress) -> float | None:
    if look.state.over:
        return 1.0
    if look.phase is Phase.WALK or part is None:
        return None  # directories not yet listed: their number is unknown
    return share_done(part.weight_done, part.weight_open)


def _phase_left(part: PhaseProgress | None, phase: Phase) -> float | None:
    if part is None or phase in (Phase.WALK, Phase.FINALISE):
        return None
    return seconds_left(part.weight_done, part.weight_open, part.elapsed_s)


def one_line(snapshot: Snapshot) -> str:
    """Format the snapshot as one plain line, for logs and pipes."""
    rates = rates_text(snapshot.discovered_gb_per_hour_now, snapshot.discovered_gb_per_hour, " GB/h")
    raw = f" (raw {snapshot.raw_gb_per_hour:.1f})" if snapshot.raw_gb_per_hour >= _LEAST_RATE else ""
    parts = [
        f"{snapshot.phase} {'' if snapshot.share is None else percent(snapshot.share)}".strip(),
        items_text(snapshot),
        f"written {rates}" if snapshot.producing else rates + raw,
        f"{snapshot.calls_per_second:,.0f} calls/s",
        many(snapshot.exceptions, "exception"),
        f"{duration(snapshot.elapsed_s)} elapsed",
        left_text(snapshot),
    ]
    if snapshot.state is not JobState.RUNNING:
        parts.insert(0, str(snapshot.state))
    parts.extend(f"waiting: {line}" for line in snapshot.waiting)
    return " · ".join(parts)


def rates_text(now: float, since: float, unit: str = "") -> str:
    """Format rates: `3.0 now, 4.0 since start`. Bytes are counted when a task ends, so the present rate is unknown at the
    start of a phase and while all slots read large files."""
    if since < _LEAST_RATE:
        return f"under 0.1{unit} since start" if since else f"{unit} not known yet".strip()
    return f"{now:.1f}{unit} now, {since:.1f} since start" if now >= _LEAST_RATE else f"{since:.1f}{unit} since start"


def items_text(snapshot: Snapshot) -> str:
    """Format the number of items: `1,200 of 3,400 items`, or `1,200 items so far` while more may be found."""
    if snapshot.items_known is None:
        return f"{many(snapshot.items_done, 'item')} so far"
    return f"{snapshot.items_done:,} of {many(snapshot.items_known, 'item')}"


def left_text(snapshot: Snapshot) -> str:
    """Describe the remaining time, as far as it can be estimated."""
    if snapshot.state.over:
        return "over"
    if snapshot.left_s is not None:
        return f"about {duration(snapshot.left_s)} left"
    if snapshot.phase_left_s is not None:
        return f"{snapshot.phase} about {duration(snapshot.phase_left_s)} more, then {snapshot.then}"
    return "end not known yet"
