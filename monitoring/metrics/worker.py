"""Metrics of one worker: its calls, and what its slots' tallies say at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from monitoring.metrics import tally
from monitoring.metrics.buckets import WORDS
from monitoring.metrics.catalogue import SPECS
from monitoring.metrics.collecting import Collector, Metric
from monitoring.metrics.families import transactions
from monitoring.metrics.tally import CallCounters, summed, transactions_at


class TallyMetrics(Collector):
    """Tasks, items, exceptions, bytes, busy time and transactions of all slots of a worker."""

    def __init__(self, tallies: Sequence[CallCounters], databases: Sequence[str]) -> None:
        self._tallies = tallies
        self._databases = databases

    def collect(self) -> Iterator[Metric]:
        """The families."""
        words = summed(self._tallies)
        tasks: dict[tuple[str, ...], int] = {
            (phase.value, outcome.value): at for (phase, outcome), at in tally.TASKS.items()
        }
        yield _counter("edbench_tasks_total", words, tasks)
        yield _counter("edbench_items_total", words, {(key.value,): at for key, at in tally.KINDS.items()})
        yield _counter("edbench_texts_total", words, {(key.value,): at for key, at in tally.TEXTS.items()})
        yield _counter("edbench_produced_files_total", words, {(key.value,): at for key, at in tally.FILES.items()})
        yield _counter("edbench_exceptions_total", words, {(key.value,): at for key, at in tally.CODES.items()})
        for volume, at in tally.VOLUMES.items():
            yield _counter(f"edbench_{volume}_bytes_total", words, {(): at})
        busy = SPECS["edbench_slot_busy_seconds_total"].counter()
        for phase, at in tally.BUSY.items():
            busy.add_metric((phase.value,), words[at] / 1e9)
        yield busy
        slots = SPECS["edbench_slots"].gauge()
        slots.add_metric((), len(self._tallies))
        yield slots
        yield transactions(
            {name: words[transactions_at(n) : transactions_at(n) + WORDS] for n, name in enumerate(self._databases)}
        )


def _counter(name: str, words: Sequence[int], places: Mapping[tuple[str, ...], int]) -> Metric:
    family = SPECS[name].counter()
    for labels, at in places.items():
        family.add_metric(labels, words[at])
    return family
