"""Families that several roles expose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitoring.metrics.buckets import cumulative
from monitoring.metrics.catalogue import SPECS
from monitoring.metrics.collecting import Collector, Metric


def transactions(by_database: Mapping[str, Sequence[int]]) -> Metric:
    """The family of transactions, from the words of `monitoring.metrics.buckets`."""
    family = SPECS["edbench_database_transaction_seconds"].histogram()
    for database, words in by_database.items():
        family.add_metric((database,), *cumulative(words))
    return family


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric without labels that is read when it is scraped."""

    name: str
    read: Callable[[], float]


class Readings(Collector):
    """Metrics that something else counts anyway."""

    def __init__(self, *readings: Reading) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        """The families."""
        for reading in self._readings:
            family = SPECS[reading.name].simple()
            family.add_metric((), reading.read())
            yield family
