"""GB/hour against workers for each number of databases, predicted around what an experiment measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.predict import Prediction, Predictor
from experiments.workloads.discovery.result import Point, Result

_BEYOND = 4  # times the most workers that were measured
_SEEDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One number of databases: predictions by workers, and the measured points among them."""

    databases: int
    predicted: tuple[Prediction, ...]
    measured: tuple[Point, ...]

    def stretches(self) -> list[tuple[int, int, str]]:
        """Fewest and most workers of each stretch, with what limits there."""
        out: list[tuple[int, int, str]] = []
        for one in self.predicted:
            workers = one.question.workers
            if out and out[-1][2] == one.limit:
                out[-1] = (out[-1][0], workers, one.limit)
            else:
                out.append((workers, workers, one.limit))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """All of a result, with the numbers of workers that it was calibrated on."""

    calibrated_on: tuple[int, ...]
    curves: tuple[Curve, ...]


def curves(result: Result) -> Curves:
    """On the hosts and the filer of the result, with its slots and its data set.

    Raises UsageError saying in one line why the result cannot be calibrated on.
    """
    calibration = calibrate(result, "this result", filer_given=False)
    predictor = Predictor(calibration, filer_changed=False)
    shard = "shared out" in str(result.conditions.get("configuration", {}).get("several_databases", ""))
    points = [point for point in result.points if point.slots == calibration.slots]
    databases = sorted({point.databases for point in points} | {1, 2})
    most = max(point.workers for point in points) * _BEYOND
    workers = {point.workers for point in points} | {2**n for n in range(int(math.log2(most)) + 1)}
    return Curves(
        calibrated_on=tuple(point.workers for point in calibration.measured),
        curves=tuple(
            Curve(
                databases=number,
                predicted=tuple(
                    predictor(
                        Question(
                            workers=w,
                            databases=number,
                            slots=calibration.slots,
                            shard=shard and number > 1,
                            one_host=True,
                        ),
                        _SEEDS,
                    )
                    for w in sorted(workers)
                ),
                measured=tuple(point for point in points if point.databases == number),
            )
            for number in databases
        ),
    )
