"""Predictions with intervals: the simulated median, and how far a measured run may lie from it.

The interval has four parts, added as variances of logarithms: how much simulated runs differ among themselves (which
task gets which file), how much the calibration's repeats differed, how far the model is from the points it was
calibrated on, and a share for every doubling of the load beyond these and of the data. The last one is an allowance, not a
measurement; `make bench-model` holds all of them against runs (docs/dev/capacity-validation.md). Of a site that is asked about
without a result of any site there is none: its rows, transactions and processor seconds are assumed, and nothing tells how wrong.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.jobs.rates import gb_per_hour
from core.document import Document, Milli
from core.filer import FilerModel
from experiments.capacity.assemble import Question, assemble
from experiments.capacity.calibration import Calibration
from experiments.capacity.network import Network, Predicted
from experiments.capacity.simulation import batched, simulate

LEVEL = 0.9
UNKNOWN = "not known"  # in the place of an interval
_QUANTILE = 1.83  # Student's t of 9 degrees of freedom, two-sided 90 %
_LEAST_REPEAT = 0.015  # where there is but one run of a point
_A_DOUBLING = 0.015
_ANOTHER = 0.015  # another filer than the calibrated one; more databases than one
_UNITS = 1_500  # of all phases of a run; more are put together (`simulation.batched`)
SEEDS = 9
_FEWER_SEEDS = 3  # where the data set is so many times the calibration's that tasks average out
_MANY_TIMES = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A predicted value."""

    value: float
    interval: tuple[float, float] | None  # of 90 %; None where nothing tells how far off it may be

    def told(self, write: Callable[[float], str]) -> str:
        """The interval, for people."""
        return UNKNOWN if self.interval is None else " to ".join(map(write, self.interval))

    def holds(self, measured: float) -> bool:
        """Whether it lies in the interval; no interval holds nothing."""
        return self.interval is not None and self.interval[0] <= measured <= self.interval[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Of one question. GB/hour is discovered bytes of all jobs over the longest job."""

    question: Question
    elapsed_s: Span
    gb_per_hour_discovered: Span
    limit: str  # a station's name, `network.SLOTS` or `network.TASKS`
    utilisation: dict[str, float]  # of stations over the run
    by_phase: dict[str, str]  # phase → its limit


def network_of(calibration: Calibration, question: Question, seed: int) -> Network:
    """What a run with that seed is simulated from. Raises UsageError."""
    return batched(assemble(calibration, question, random.Random(seed)), _UNITS)


def runs(calibration: Calibration, question: Question, seeds: int = SEEDS) -> list[Predicted]:
    """Simulated runs with seeds 0, 1, …; raises UsageError."""
    return [simulate(network_of(calibration, question, seed), seed) for seed in range(seeds)]


class Predictor:
    """Answers questions from one calibration; the calibration's own points are simulated once."""

    def __init__(self, calibration: Calibration, *, filer_changed: bool) -> None:
        self.calibration = calibration
        self._fit = self._misfit()
        self._repeat = _repeat(calibration)
        self._filer_changed = filer_changed

    def __call__(self, question: Question, seeds: int | None = None) -> Prediction:
        """`seeds`: simulated runs, as many as needed by default. Raises UsageError."""
        enough = _FEWER_SEEDS if question.times > _MANY_TIMES else SEEDS
        simulated = runs(self.calibration, question, seeds or enough)
        elapsed = sorted(run.elapsed_s for run in simulated)
        middle = statistics.median(elapsed)
        interval = self._interval(question, middle, elapsed)
        jobs = 1 if question.shard else question.databases
        nbytes = round(self.calibration.discovered_bytes * question.times * jobs)
        return Prediction(
            question=question,
            elapsed_s=Span(value=middle, interval=interval),
            gb_per_hour_discovered=Span(
                value=gb_per_hour(nbytes, middle),
                interval=interval and (gb_per_hour(nbytes, interval[1]), gb_per_hour(nbytes, interval[0])),
            ),
            limit=_most([run.limit for run in simulated]),
            utilisation={
                name: statistics.fmean(run.utilisation[name] for run in simulated) for name in simulated[0].utilisation
            },
            by_phase={
                phase: _most([time.limit for run in simulated for time in run.phases if time.phase == phase])
                for phase in dict.fromkeys(time.phase for time in simulated[0].phases)
            },
        )

    def _interval(self, question: Question, middle: float, elapsed: Sequence[float]) -> tuple[float, float] | None:
        if not interval_known(self.calibration, question.filer):
            return None
        factor = math.exp(_QUANTILE * self._spread(question, elapsed))
        return middle / factor, middle * factor

    def _spread(self, question: Question, elapsed: Sequence[float]) -> float:
        """Standard deviation of the logarithm of a measured run's elapsed time about the prediction."""
        logs = [math.log(each) for each in elapsed]
        most = max(point.workers for point in self.calibration.measured) * self.calibration.slots
        doublings = max(0.0, math.log2(question.workers * question.slots / most))
        parts = [
            statistics.stdev(logs) if len(logs) > 1 else 0.0,
            self._repeat,
            self._fit,
            _A_DOUBLING * doublings,
            _A_DOUBLING * math.log2(question.times),  # squared below: half the data is as far off as twice
            _ANOTHER if self._filer_changed else 0.0,
            _ANOTHER if question.databases > 1 else 0.0,
        ]
        return math.sqrt(sum(part * part for part in parts))

    def _misfit(self) -> float:
        """Root mean square of the logarithm of measured over simulated, at the calibrated points themselves."""
        errors = []
        for point in self.calibration.measured:
            question = Question(workers=point.workers, databases=1, slots=self.calibration.slots, one_host=True)
            simulated = statistics.median(run.elapsed_s for run in runs(self.calibration, question, 5))
            errors.append(math.log(statistics.median(point.elapsed_s) / simulated))
        return math.sqrt(statistics.fmean(error * error for error in errors))


def interval_known(calibration: Calibration, filer: FilerModel | None) -> bool:
    """Whether measurements tell how far off a prediction may be. Not of a site, where nothing was measured on any."""
    return filer is None or filer.site is None or calibration.on_a_site


def _repeat(calibration: Calibration) -> float:
    """Pooled standard deviation of the logarithms of repeats."""
    squares, degrees = 0.0, 0
    for point in calibration.measured:
        logs = [math.log(seconds) for seconds in point.elapsed_s]
        squares += statistics.variance(logs) * (len(logs) - 1) if len(logs) > 1 else 0.0
        degrees += len(logs) - 1
    return max(_LEAST_REPEAT, math.sqrt(squares / degrees)) if degrees else _LEAST_REPEAT


def _most(names: Sequence[str]) -> str:
    return Counter(names).most_common(1)[0][0]


class PointDocument(Document):
    """One point; the intervals are of 90 %, and null, as their coverage is, where none is known."""

    workers: int
    slots: int
    databases: int
    elapsed_s: Milli
    elapsed_s_interval: tuple[Milli, Milli] | None
    gb_per_hour_discovered: Milli
    gb_per_hour_discovered_interval: tuple[Milli, Milli] | None
    coverage: float | None
    limit: str
    limit_by_phase: dict[str, str]
    utilisation: dict[str, float]


def point_document(prediction: Prediction) -> PointDocument:
    """Of a prediction."""
    question, elapsed, rate = prediction.question, prediction.elapsed_s, prediction.gb_per_hour_discovered
    return PointDocument(
        workers=question.workers,
        slots=question.slots,
        databases=question.databases,
        elapsed_s=elapsed.value,
        elapsed_s_interval=elapsed.interval,
        gb_per_hour_discovered=rate.value,
        gb_per_hour_discovered_interval=rate.interval,
        coverage=None if elapsed.interval is None else LEVEL,
        limit=prediction.limit,
        limit_by_phase=prediction.by_phase,
        utilisation={name: round(share, 4) for name, share in prediction.utilisation.items()},
    )


__all__ = [
    "PointDocument",
    "Prediction",
    "Predictor",
    "Span",
    "interval_known",
    "network_of",
    "point_document",
    "runs",
]
