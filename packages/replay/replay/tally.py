"""The figures of a client during the calls, and the merged figures of several: durations are kept for a block of steps
and counted together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from core.histogram import BUCKETS, CELLS, Histogram, buckets_of, merged
from core.operations import MOST_BYTES, Op
from replay import script


@dataclass(frozen=True, slots=True, kw_only=True)
class OpResult:
    """The calls of one op."""

    calls: int
    errors: int  # calls that failed, as recorded or not
    bytes: int
    response: Histogram  # end less intended start, ns
    service: Histogram  # end less actual start, ns
    response_max_ns: int
    service_max_ns: int
    response_total_ns: int
    service_total_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Calls that ended otherwise than recorded."""

    op: Op
    expected: int  # errno, 0: success
    found: int  # errno, 0: success; equal to `expected` (0): fewer bytes were moved than recorded
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """Figures of one client, or of several (`merge_results`)."""

    clients: int = 1
    ops: Mapping[Op, OpResult] = field(default_factory=dict)  # ops that were called
    differences: tuple[Difference, ...] = ()
    by_second: tuple[int, ...] = ()  # calls that ended in each second since the start
    due_by_second: tuple[int, ...] = ()  # calls that were to begin in each; empty if none had an intended start
    last_due_s: float = 0.0  # the last intended start, since the start; 0.0 likewise
    lateness_max_ns: int = 0  # longest delay of a call's start after the intended one
    waited_s: float = 0.0  # waits for calls of other clients, in total
    cpu_s: float = 0.0
    elapsed_s: float = 0.0  # from the start to the end of the last call
    unrecorded_opens: int = 0  # opens of files that a call of the trace needed open and no call had opened

    @property
    def calls(self) -> int:
        return sum(result.calls for result in self.ops.values())

    @property
    def errors(self) -> int:
        return sum(result.errors for result in self.ops.values())

    @property
    def bytes(self) -> int:
        return sum(result.bytes for result in self.ops.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, ops by their labels and histograms as pairs; `from_json` is the inverse."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_pairs)
        plain["ops"] = {Op(op).label: result for op, result in plain["ops"].items()}
        plain["differences"] = [{**d, "op": Op(d["op"]).label} for d in plain["differences"]]
        return plain

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ClientResult:
        """Return the result from `to_json`. Raises KeyError or ValueError for other data."""
        ops = {Op[label.upper()]: result for label, result in data["ops"].items()}
        differences = [{**d, "op": Op[d["op"].upper()]} for d in data["differences"]]
        plain = {**data, "ops": ops, "differences": differences}
        return msgspec.convert(plain, ClientResult, dec_hook=_histogram)


_MOST = ("last_due_s", "lateness_max_ns", "elapsed_s", "response_max_ns", "service_max_ns")  # merged by the largest


def merge_results(results: Iterable[ClientResult]) -> ClientResult:
    """Merge several clients that started together: sums, merged histograms, the largest of each maximum."""
    clients = list(results)
    ops: dict[Op, list[OpResult]] = {}
    differences: Counter[tuple[Op, int, int]] = Counter()
    for one in clients:
        for op, of_op in one.ops.items():
            ops.setdefault(op, []).append(of_op)
        for d in one.differences:
            differences[d.op, d.expected, d.found] += d.calls
    whole = _merged(ClientResult, clients)
    whole["ops"] = {op: OpResult(**_merged(OpResult, ops[op])) for op in sorted(ops)}
    return ClientResult(**whole | {"differences": _differences(differences)})


def _merged(kind: type[Any], several: Sequence[Any]) -> dict[str, Any]:
    return {one.name: _joined(one.name, several) for one in fields(kind) if one.name not in ("ops", "differences")}


def _joined(name: str, several: Sequence[Any]) -> Any:
    values = [getattr(one, name) for one in several]
    if name in _MOST:
        return max(values, default=0)
    if name in ("response", "service"):
        return merged(values)
    return tuple(map(sum, zip_longest(*values, fillvalue=0))) if name.endswith("by_second") else sum(values)


def _differences(counted: Mapping[tuple[Op, int, int], int]) -> tuple[Difference, ...]:
    return tuple(Difference(op=o, expected=e, found=f, calls=n) for (o, e, f), n in sorted(counted.items()))


def _pairs(histogram: Histogram) -> list[list[int]]:
    return [[cell, histogram.cells[cell]] for cell in sorted(histogram.cells)]


def _histogram(_kind: type, pairs: Iterable[tuple[int, int]]) -> Histogram:
    return Histogram(dict(pairs))


_SECOND = 1_000_000_000
_OPS = max(Op) + 1
_OP_OF_CODE = np.full(script.CODES, _OPS, np.intp)  # a value that is not an op, for steps that are no calls
for _code, _op in script.OP_OF_CODE.items():
    _OP_OF_CODE[_code] = _OP_OF_CODE[_code | script.INDEXING] = _op


@dataclass(slots=True)
class _Latencies:
    """Latencies of one kind, by op."""

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
    """Number of moments in each second since the start."""

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
        self.ended, self.due = _Seconds(), _Seconds()  # of calls: their ends, and when they were to begin
        self.last_due_ns = 0  # the last intended start, since `start_ns`
        self.different: Counter[tuple[Op, int, int]] = Counter()
        self.lateness_max_ns = 0

    def add_block(
        self,
        codes: npt.NDArray[np.uint8],
        intended: list[int],
        begun: list[int],
        ended: list[int],
        moved: list[int],
    ) -> None:
        """Count the steps of a block: their codes, moments (monotonic ns) and bytes. Others than calls are skipped."""
        ops = _OP_OF_CODE[codes]
        start, began, end, nbytes = (np.array(numbers, np.int64) for numbers in (intended, begun, ended, moved))
        calls = ops < _OPS
        if not calls.all():
            ops, start, began, end, nbytes = ops[calls], start[calls], began[calls], end[calls], nbytes[calls]
        if not len(ops):
            return
        sizes = np.searchsorted(MOST_BYTES, nbytes)  # vectorised core.operations.size_class
        self._service.add(ops, sizes, end - began)
        self._response.add(ops, sizes, end - start)
        self._bytes += np.bincount(ops, nbytes, _OPS + 1).astype(np.int64)
        self.lateness_max_ns = max(self.lateness_max_ns, int((began - start).max()))
        self.last_due_ns = max(self.last_due_ns, int(start.max()) - self._start)
        self.ended.add(end - self._start)
        self.due.add(start - self._start)

    def error(self, op: Op) -> None:
        """Count a call that failed, expected or not."""
        self._errors[op] += 1

    def differs(self, op: Op, expected: int, found: int) -> None:
        """Count a call that ended otherwise than expected."""
        self.different[op, expected, found] += 1

    def ops(self) -> dict[Op, OpResult]:
        """Return the figures of the ops that were called."""
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
        return _differences(self.different)
