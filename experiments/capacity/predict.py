"""Predictions with intervals: the simulated median, and how far a measured run may lie from it.

The interval has four parts, added as variances of logarithms: how much simulated runs differ among themselves (which
task gets which file), how much the calibration's repeats differed, how far the model is from the points it was
calibrated on, and a share for every doubling of the load beyond these. The last one is an allowance, not a measurement;
`make bench-model` holds all of them against runs (docs/capacity-validation.md).
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.jobs.rates import gb_per_hour
from core.document import Document, Milli
from experiments.capacity.assemble import Question, assemble
from experiments.capacity.calibration import Calibration
from experiments.capacity.network import Network, Predicted
from experiments.capacity.simulation import batched, simulate

LEVEL = 0.9
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
    """A predicted value with its 90 % interval."""

    value: float
    low: float
    high: float


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
        spread = self._spread(question, elapsed)
        factor = math.exp(_QUANTILE * spread)
        jobs = 1 if question.shard else question.databases
        nbytes = round(self.calibration.discovered_bytes * question.times * jobs)
        return Prediction(
            question=question,
            elapsed_s=Span(value=middle, low=middle / factor, high=middle * factor),
            gb_per_hour_discovered=Span(
                value=gb_per_hour(nbytes, middle),
                low=gb_per_hour(nbytes, middle * factor),
                high=gb_per_hour(nbytes, middle / factor),
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
    """One point; the intervals are of 90 %."""

    workers: int
    slots: int
    databases: int
    elapsed_s: Milli
    elapsed_s_interval: tuple[Milli, Milli]
    gb_per_hour_discovered: Milli
    gb_per_hour_discovered_interval: tuple[Milli, Milli]
    coverage: float
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
        elapsed_s_interval=(elapsed.low, elapsed.high),
        gb_per_hour_discovered=rate.value,
        gb_per_hour_discovered_interval=(rate.low, rate.high),
        coverage=LEVEL,
        limit=prediction.limit,
        limit_by_phase=prediction.by_phase,
        utilisation={name: round(share, 4) for name, share in prediction.utilisation.items()},
    )


__all__ = ["PointDocument", "Prediction", "Predictor", "Span", "network_of", "point_document", "runs"]
