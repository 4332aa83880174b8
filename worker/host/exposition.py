"""What a worker shows to Prometheus, put together in its reporter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring.counters import CounterDelta
from monitoring.live import RegionReader
from monitoring.metrics.calls import CallMetrics
from monitoring.metrics.endpoint import Endpoint
from monitoring.metrics.families import Reading, Readings
from monitoring.metrics.observed import ObservedMetrics
from monitoring.metrics.worker import TallyMetrics
from monitoring.observations import Observation
from monitoring.sender import FrameSender
from worker.slots.table import SlotTable


class WorkerExposition:
    """All slots of the worker together."""

    def __init__(self, table: SlotTable, readers: Sequence[RegionReader], sender: FrameSender) -> None:
        self._calls = CallMetrics()
        self._observed = ObservedMetrics()
        self.collectors = (
            self._calls,
            self._observed,
            TallyMetrics([table.tally(slot) for slot in range(table.slots)], table.databases),
            Readings(
                Reading("edbench_calls_lost_total", lambda: sum(reader.lost for reader in readers)),
                Reading("edbench_frames_waiting", lambda: sender.waiting),
                Reading("edbench_frames_lost_total", lambda: sender.lost),
            ),
        )

    def serve(self, endpoint: Endpoint) -> None:
        """Answer until the process ends."""
        endpoint.serve_or_tell(self.collectors)

    def add(self, deltas: Iterable[CounterDelta], observations: Iterable[Observation]) -> None:
        """What the slots' recorders have counted since the last time, and what is seen now."""
        self._calls.add(deltas)
        self._observed.take(observations)
