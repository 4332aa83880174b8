"""Utilisation and queue wait of an emulated filer's stations, from the arbiter's counters (design §4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from core.filer.arbiter import ArbiterCounts, StationCounts


class EmulatedSampler:
    """Looks at the counters now and then. Time is seconds since it was made; safe for two threads."""

    def __init__(self, snapshot: Callable[[], ArbiterCounts], monotonic_ns: Callable[[], int]) -> None:
        self._snapshot = snapshot
        self._now = monotonic_ns
        self._lock = threading.Lock()
        self._begin = monotonic_ns()
        self._first = self._quiet = self._last = (self._begin, snapshot())
        self._busy_until = self._last
        self._series: list[tuple[float, dict[str, dict[str, float]]]] = []

    def sample(self) -> None:
        """One more point of the series; call it about once a second."""
        with self._lock:
            before, self._last = self._last, (self._now(), self._snapshot())
            after = self._last
            if _calls(after[1]) == _calls(self._first[1]):
                self._quiet = after  # no call yet: the time of the figures has not begun
            if _calls(after[1]) != _calls(before[1]):
                self._busy_until = after
            at = round((after[0] - self._begin) / 1e9, 3)
            self._series.append((at, _between(before, after)))

    def to_json(self) -> dict[str, Any]:
        """`stations` over the time in which there were calls, `misses`, what clients' caches answered, `series` by sample.

        utilisation is 0…1 (more than 1 only while bookings reach beyond the sample), times are microseconds.
        """
        self.sample()
        with self._lock:
            begin, end = self._quiet, self._busy_until
            stations = _between(begin, end) if end[0] > begin[0] else {}
            misses = end[1].misses - begin[1].misses
            missed_ns = end[1].missed_ns - begin[1].missed_ns
            return {
                "seconds": round((end[0] - begin[0]) / 1e9, 3),
                "stations": stations,
                "misses": {"calls": misses, "mean_delay_us": round(missed_ns / misses / 1e3, 1) if misses else 0.0},
                "cached": {
                    "calls": end[1].cached_calls - begin[1].cached_calls,
                    "bytes": end[1].cached_bytes - begin[1].cached_bytes,
                },
                "series": [[at, point] for at, point in self._series],
            }


def _calls(counts: ArbiterCounts) -> int:
    return sum(station.calls for station in counts.stations.values())


def _between(before: tuple[int, ArbiterCounts], after: tuple[int, ArbiterCounts]) -> dict[str, dict[str, float]]:
    elapsed = max(1, after[0] - before[0])
    return {name: _figures(before[1].stations[name], station, elapsed) for name, station in after[1].stations.items()}


def _figures(before: StationCounts, after: StationCounts, elapsed_ns: int) -> dict[str, float]:
    calls = after.calls - before.calls
    wait = (after.waited_ns - before.waited_ns) / calls / 1e3 if calls else 0.0
    return {
        "utilisation": round((after.busy_ns - before.busy_ns) / (elapsed_ns * after.servers), 4),
        "mean_wait_us": round(wait, 1),
        "calls": calls,
        "filer_ops": round(after.filer_ops - before.filer_ops, 3),
    }
