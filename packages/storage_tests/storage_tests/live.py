"""The current activity of a profile, by second, in the form from which the web UI draws a job's timeline
(web/static/js/board.js)."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from monitoring.block import BlockSampler
from monitoring.machine import host_seconds
from storage_tests.crowd import MOST
from storage_tests.tally import Counters

_EACH_S = 1.0
_MOST_POINTS = 600
_MOST_LINES = 200

# For each panel: id, title, unit, and its series; a series' values are under "panel.series".
_PANELS: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...] = (
    ("moved", "Bytes/second of edbench's clients", "bytes/s", (("all", "moved"),)),
    ("files", "Files or objects/second", "files/s", (("done", "done"), ("troubles", "refused or failed"))),
    ("file_time", "Mean time of a file or object", "µs", (("mean", "mean"),)),
    ("worker_host", "CPU of this host", "share of all", (("busy", "busy"),)),
    ("block_bytes", "Block devices below the paths, bytes/second", "bytes/s", (("read", "read"), ("written", "written"))),
    ("block_requests", "Requests/second of these devices", "requests/s", (("reads", "reads"), ("writes", "writes"))),
)  # fmt: skip


_Reading = tuple[float, dict[str, float]]  # time, and counters that only grow


class Live:
    """The live view of one storage test; use `live`. Safe for the thread that reads, the test's, and those of
    requests."""

    def __init__(self, profile: str, counters: Counters, paths: Sequence[Path]) -> None:
        self.profile, self.counters = profile, counters
        self._devices = BlockSampler(paths)
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._doing, self._outcomes = "", list[str]()
        self._runs: list[dict[str, Any]] = []
        self._seconds: list[float] = []
        self._values: list[dict[str, float]] = []
        self._last = self._read()

    def show(self, line: str) -> None:
        """Set the line with the current activity."""
        with self._lock:
            self._doing = line

    def say(self, line: str) -> None:
        """Add the outcome of a run."""
        with self._lock:
            self._outcomes = [*self._outcomes, line][-_MOST_LINES:]

    def run(self, name: str) -> None:
        """Begin another run, or its null baseline."""
        now = self._now()
        with self._lock:
            if self._runs:
                self._runs[-1]["end_s"] = now
            self._runs.append({"phase": name, "start_s": now, "end_s": None})

    def look(self) -> None:
        """Add one more point."""
        before, after = self._last, self._read()
        values = _between(before, after)
        with self._lock:
            self._last = after
            self._seconds.append(before[0])
            self._values.append(values)

    def timeline(self) -> dict[str, Any]:
        """Return everything so far as at most so many points, each the mean of its seconds."""
        with self._lock:
            seconds, values = list(self._seconds), list(self._values)
            runs, doing, outcomes = [dict(run) for run in self._runs], self._doing, list(self._outcomes)
        together = -(-len(seconds) // _MOST_POINTS) or 1
        return {
            "profile": self.profile,
            "doing": doing,
            "said": outcomes,
            "now_s": self._now(),
            "step_s": together * _EACH_S,
            "since": "start of the command",
            "state": "running",
            "phases": runs,
            "pauses": [],
            "t": seconds[::together],
            "panels": _panels(values, together),
        }

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _read(self) -> _Reading:
        counted = ("moved", "done", "troubles", "whole_ns", "busy", "passed")
        counts: dict[str, float] = dict(zip(counted, (*self.counters.totals(), *host_seconds()), strict=True))
        devices = [one.values for one in self._devices.sample()]
        if devices:
            for name in ("read_bytes", "write_bytes", "reads", "writes"):
                counts[name] = sum(device[name] for device in devices)
        return self._now(), counts


def _between(before: _Reading, after: _Reading) -> dict[str, float]:
    """Return rates over the time between two readings; counters that either lacks are left out."""
    took = max(after[0] - before[0], 1e-3)
    grown = {name: after[1][name] - count for name, count in before[1].items() if name in after[1]}
    names = {
        "moved.all": "moved", "files.done": "done", "files.troubles": "troubles", "block_bytes.read": "read_bytes",
        "block_bytes.written": "write_bytes", "block_requests.reads": "reads", "block_requests.writes": "writes",
    }  # fmt: skip
    values = {series: grown[name] / took for series, name in names.items() if name in grown}
    if wholes := grown["done"] + grown["troubles"]:
        values["file_time.mean"] = grown["whole_ns"] / wholes / 1000
    if grown["passed"]:
        values["worker_host.busy"] = grown["busy"] / grown["passed"]
    return values


def _panels(values: Sequence[dict[str, float]], together: int) -> list[dict[str, Any]]:
    """Return the panels that have data."""
    known = {name for second in values for name in second}
    return [
        {
            "id": panel,
            "title": title,
            "unit": unit,
            "kind": "line",
            "series": [
                {
                    "id": name,
                    "label": label,
                    "values": _thinned([one.get(f"{panel}.{name}") for one in values], together),
                }
                for name, label in series
                if f"{panel}.{name}" in known
            ],
        }
        for panel, title, unit, series in _PANELS
        if any(f"{panel}.{name}" in known for name, _ in series)
    ]


def _thinned(values: Sequence[float | None], together: int) -> list[float | None]:
    out: list[float | None] = []
    for first in range(0, len(values), together):
        known = [value for value in values[first : first + together] if value is not None]
        out.append(float(f"{sum(known) / len(known):.4g}") if known else None)
    return out


@contextlib.contextmanager
def live(profile: str, paths: Sequence[Path]) -> Iterator[Live]:
    """Read the counters once a second during the block."""
    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="edbench-live-") as directory:
        watched = Live(profile, Counters(Path(directory) / "counters", MOST), paths)

        def look() -> None:
            while not over.wait(_EACH_S):
                watched.look()

        thread = threading.Thread(target=look, name="live", daemon=True)
        thread.start()
        try:
            yield watched
        finally:
            over.set()
            thread.join()
