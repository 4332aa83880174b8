"""Observations: measurements of one second other than storage calls, as plain values of a kind and a source."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.filer.arbiter import ArbiterCounts, StationCounts
from monitoring.control_groups import ControlGroups

_GROUPS = ControlGroups()
_PROC = Path("/proc")
_BLOCK_FILES = (
    "io.stat",
    "blkio.throttle.io_service_bytes_recursive",
    "blkio.throttle.io_service_bytes",
)  # versions 2, 1


@dataclass(frozen=True, slots=True)
class BlockIo:
    """Bytes since the group was made, or the processes began."""

    read: int
    written: int
    source: str  # who reports it


def of_group(groups: ControlGroups = _GROUPS) -> BlockIo | None:
    """Return the bytes of this process's control group, since it was made; None if the kernel counts none."""
    for at, name in itertools.product(itertools.islice(groups.of("blkio"), 1), _BLOCK_FILES):
        with contextlib.suppress(OSError, ValueError):
            if (moved := parse_cgroup((at / name).read_text())) is not None:
                return BlockIo(*moved, "control group")
    return None


def parse_cgroup(text: str) -> tuple[int, int] | None:
    """Bytes read and written over all devices, from `io.stat` or `blkio.throttle.io_service_bytes`; None without any."""
    read = written = 0
    devices = 0
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or ":" not in words[0]:
            continue  # "Total 0": the kernel counts nothing here
        devices += 1
        fields = dict(word.partition("=")[::2] for word in words[1:])
        if "rbytes" in fields:
            read, written = read + int(fields["rbytes"]), written + int(fields["wbytes"])
        elif words[1] == "Read":
            read += int(words[2])
        elif words[1] == "Write":
            written += int(words[2])
    return (read, written) if devices else None


def of_processes(pids: Iterable[int], proc: Path = _PROC) -> BlockIo | None:
    """Return the bytes that the kernel accounts to these processes (proc(5), io), whatever the file system; ended
    processes count with their parents. None without permission, which takes their user or root."""
    read = written = 0
    for pid in pids:
        try:
            fields = dict(line.split(": ") for line in (proc / str(pid) / "io").read_text().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        except (OSError, ValueError):
            return None
        read, written = read + int(fields["read_bytes"]), written + int(fields["write_bytes"])
    return BlockIo(read, written, "processes")


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
        """`stations` over the time in which there were calls, `misses`, what clients' caches answered, `series` by
        sample.

        utilisation is 0…1 (more than 1 only while bookings reach beyond the sample), times are microseconds."""
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


# Of a job; taken by the queue manager of its database.
QUEUE = "queue"
PROGRESS = "progress"
# Of a database, worker, host or filer; counters are cumulative, so that a second that was missed costs only itself.
DATABASE = "database"
WORKER = "worker"
WIRE = "wire"
BLOCK = "block"
SPACE = "space"
ARRAY = "array"
EMULATED = "emulated"

KINDS = frozenset((QUEUE, PROGRESS, DATABASE, WORKER, WIRE, BLOCK, SPACE, ARRAY, EMULATED))

SOURCE_CHARACTERS = 500
VALUES_BYTES = 32_768  # as JSON; a mount with thirty ops over sixteen transports has about 6 KB


class Observation:
    """One source's report of its state now; `values` is plain JSON data, times and bytes as its kind defines."""

    __slots__ = ("kind", "source", "text", "values")

    def __init__(self, kind: str, source: str, values: Mapping[str, Any]) -> None:
        """Raises ValueError for an unknown kind, an empty or too long source, values that are no JSON or too many."""
        if kind not in KINDS:
            raise ValueError(f"no such kind of observation: {kind!r}")
        if not 0 < len(source) <= SOURCE_CHARACTERS or "\0" in source:
            raise ValueError(f"an observation's source has 1 to {SOURCE_CHARACTERS} characters and no NUL")
        self.kind, self.source, self.values = kind, source, values
        self.text = _json(kind, values)  # the values as compact JSON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observation) and (self.kind, self.source, self.text) == (
            other.kind,
            other.source,
            other.text,
        )


def _json(kind: str, values: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(dict(values), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as e:  # half a character counts as ValueError
        raise ValueError(f"an observation of kind {kind} is not plain data: {e}") from e
    if size > VALUES_BYTES:
        raise ValueError(f"an observation of kind {kind} is over {VALUES_BYTES} bytes")
    if "\\u0000" in text:
        raise ValueError(f"an observation of kind {kind} holds a NUL, which the database cannot")
    return text
