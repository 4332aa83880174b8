"""A client's figures while it plays: durations are kept for a block of steps and counted together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.histogram import BUCKETS, CELLS, Histogram, buckets_of
from core.operations import MOST_BYTES, Op
from replay import script
from replay.result import Difference, OpResult

_SECOND = 1_000_000_000
_OPS = max(Op) + 1
_OP_OF_CODE = np.full(script.CODES, _OPS, np.intp)  # an op that is none, for steps that are no calls
for _code, _op in script.OP_OF_CODE.items():
    _OP_OF_CODE[_code] = _OP_OF_CODE[_code | script.INDEXING] = _op


@dataclass(slots=True)
class _Latencies:
    """Of every op, of one kind."""

    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((_OPS + 1) * CELLS, np.int64))
    most: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_OPS + 1, np.int64))
    totals: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_OPS + 1, np.int64))

    def add(self, ops: npt.NDArray[np.intp], sizes: npt.NDArray[np.intp], ns: npt.NDArray[np.int64]) -> None:
        self.counts += np.bincount(ops * CELLS + sizes * BUCKETS + buckets_of(ns), minlength=self.counts.size)
        np.maximum.at(self.most, ops, ns)
        self.totals += np.bincount(ops, ns, _OPS + 1).astype(np.int64)

    def histogram(self, op: Op) -> Histogram:
        cells = self.counts[op * CELLS : (op + 1) * CELLS]
        return Histogram({int(cell): int(cells[cell]) for cell in np.flatnonzero(cells)})


@dataclass(slots=True)
class _Seconds:
    """How many moments fell into each second since the start."""

    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(64, np.int64))
    latest: int = 0

    def add(self, since_ns: npt.NDArray[np.int64]) -> None:
        seconds = np.maximum(since_ns, 0) // _SECOND
        self.latest = max(self.latest, int(seconds.max()))
        while self.latest >= len(self.counts):
            self.counts = np.concatenate((self.counts, np.zeros_like(self.counts)))
        self.counts += np.bincount(seconds, minlength=len(self.counts))

    def counted(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.counts[: self.latest + 1])


class ReplayCounters:
    """Figures since `start_ns` (monotonic)."""

    def __init__(self, start_ns: int) -> None:
        self._start = start_ns
        self._service, self._response = _Latencies(), _Latencies()
        self._bytes = np.zeros(_OPS + 1, np.int64)
        self._errors = [0] * (_OPS + 1)
        self._ended, self._due = _Seconds(), _Seconds()
        self.last_due_ns = 0  # the last intended start, since `start_ns`
        self.different: dict[tuple[Op, int, int], int] = {}
        self.lateness_max_ns = 0

    def add_block(
        self,
        codes: npt.NDArray[np.uint8],
        intended: list[int],
        begun: list[int],
        ended: list[int],
        moved: list[int],
    ) -> None:
        """The steps of a block: their codes, moments (monotonic ns) and bytes. What is no call is left out."""
        ops = _OP_OF_CODE[codes]
        start, began, end, nbytes = (np.array(numbers, np.int64) for numbers in (intended, begun, ended, moved))
        calls = ops < _OPS
        if not calls.all():
            ops, start, began, end, nbytes = ops[calls], start[calls], began[calls], end[calls], nbytes[calls]
        if not len(ops):
            return
        sizes = np.searchsorted(MOST_BYTES, nbytes)  # core.operations.size_class of many
        self._service.add(ops, sizes, end - began)
        self._response.add(ops, sizes, end - start)
        self._bytes += np.bincount(ops, nbytes, _OPS + 1).astype(np.int64)
        self.lateness_max_ns = max(self.lateness_max_ns, int((began - start).max()))
        self.last_due_ns = max(self.last_due_ns, int(start.max()) - self._start)
        self._ended.add(end - self._start)
        self._due.add(start - self._start)

    def error(self, op: Op) -> None:
        """A call failed, as was expected or not."""
        self._errors[op] += 1

    def differs(self, op: Op, expected: int, found: int) -> None:
        """A call ended otherwise than expected."""
        key = (op, expected, found)
        self.different[key] = self.different.get(key, 0) + 1

    def ops(self) -> dict[Op, OpResult]:
        """By op, those that were called."""
        out = {}
        for op in Op:
            service = self._service.histogram(op)
            if service.cells:
                out[op] = OpResult(
                    calls=service.total,
                    errors=self._errors[op],
                    bytes=int(self._bytes[op]),
                    response=self._response.histogram(op),
                    service=service,
                    response_max_ns=int(self._response.most[op]),
                    service_max_ns=int(self._service.most[op]),
                    response_total_ns=int(self._response.totals[op]),
                    service_total_ns=int(self._service.totals[op]),
                )
        return out

    def differences(self) -> tuple[Difference, ...]:
        return tuple(
            Difference(op=op, expected=expected, found=found, calls=calls)
            for (op, expected, found), calls in sorted(self.different.items())
        )

    def by_second(self) -> tuple[int, ...]:
        """Calls that ended in each second."""
        return self._ended.counted()

    def due_by_second(self) -> tuple[int, ...]:
        """Calls that were to begin in each second."""
        return self._due.counted()
