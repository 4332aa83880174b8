"""What a client found out, and what several found out together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import msgspec

from core.histogram import Histogram
from core.operations import Op


@dataclass(frozen=True, slots=True, kw_only=True)
class OpResult:
    """The calls of one op."""

    calls: int
    errors: int  # of them failed, as recorded or not
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
    """Of one client, or of several (`merge_results`)."""

    clients: int = 1
    ops: Mapping[Op, OpResult] = field(default_factory=dict)  # ops that were called
    differences: tuple[Difference, ...] = ()
    by_second: tuple[int, ...] = ()  # calls that ended in each second since the start
    due_by_second: tuple[int, ...] = ()  # calls that were to begin in each; empty where none had an intended start
    last_due_s: float = 0.0  # the last intended start, since the start; 0.0 likewise
    lateness_max_ns: int = 0  # how much later than intended a call began, at most
    waited_s: float = 0.0  # for calls of other clients, in sum
    cpu_s: float = 0.0
    elapsed_s: float = 0.0  # from the start to the end of the last call
    unrecorded_opens: int = 0  # files that a call of the trace needed open and no call of the trace had opened

    @property
    def calls(self) -> int:
        return sum(result.calls for result in self.ops.values())

    @property
    def errors(self) -> int:
        return sum(result.errors for result in self.ops.values())

    @property
    def bytes(self) -> int:
        return sum(result.bytes for result in self.ops.values())

    def response(self) -> Histogram:
        """Of all ops together."""
        return _merged(result.response for result in self.ops.values())

    def service(self) -> Histogram:
        """Of all ops together."""
        return _merged(result.service for result in self.ops.values())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, ops by their labels and histograms as pairs; `from_json` makes it again."""
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_pairs)
        plain["ops"] = {Op(op).label: result for op, result in plain["ops"].items()}
        plain["differences"] = [{**d, "op": Op(d["op"]).label} for d in plain["differences"]]
        return plain

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ClientResult:
        """Raises KeyError or ValueError for what `to_json` never gave."""
        ops = {Op[label.upper()]: result for label, result in data["ops"].items()}
        differences = [{**d, "op": Op[d["op"].upper()]} for d in data["differences"]]
        plain = {**data, "ops": ops, "differences": differences}
        return msgspec.convert(plain, ClientResult, dec_hook=_histogram)


def merge_results(results: Iterable[ClientResult]) -> ClientResult:
    """Several clients that started together: sums, merged histograms, the largest of what is a maximum."""
    clients = list(results)
    ops: dict[Op, list[OpResult]] = {}
    differences: dict[tuple[Op, int, int], int] = {}
    for one in clients:
        for op, of_op in one.ops.items():
            ops.setdefault(op, []).append(of_op)
        for d in one.differences:
            key = (d.op, d.expected, d.found)
            differences[key] = differences.get(key, 0) + d.calls
    return ClientResult(
        clients=sum(one.clients for one in clients),
        ops={op: _merged_op(ops[op]) for op in sorted(ops)},
        differences=tuple(
            Difference(op=o, expected=e, found=f, calls=n) for (o, e, f), n in sorted(differences.items())
        ),
        by_second=_summed(one.by_second for one in clients),
        due_by_second=_summed(one.due_by_second for one in clients),
        last_due_s=max((one.last_due_s for one in clients), default=0.0),
        lateness_max_ns=max((one.lateness_max_ns for one in clients), default=0),
        waited_s=sum(one.waited_s for one in clients),
        cpu_s=sum(one.cpu_s for one in clients),
        elapsed_s=max((one.elapsed_s for one in clients), default=0.0),
        unrecorded_opens=sum(one.unrecorded_opens for one in clients),
    )


def _summed(clients: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip_longest(*clients, fillvalue=0)))


def _merged_op(op_results: list[OpResult]) -> OpResult:
    return OpResult(
        calls=sum(one.calls for one in op_results),
        errors=sum(one.errors for one in op_results),
        bytes=sum(one.bytes for one in op_results),
        response=_merged(one.response for one in op_results),
        service=_merged(one.service for one in op_results),
        response_max_ns=max(one.response_max_ns for one in op_results),
        service_max_ns=max(one.service_max_ns for one in op_results),
        response_total_ns=sum(one.response_total_ns for one in op_results),
        service_total_ns=sum(one.service_total_ns for one in op_results),
    )


def _merged(histograms: Iterable[Histogram]) -> Histogram:
    out = Histogram()
    for one in histograms:
        out.add(one)
    return out


def _pairs(histogram: Histogram) -> list[list[int]]:
    return [[cell, histogram.cells[cell]] for cell in sorted(histogram.cells)]


def _histogram(_kind: type, pairs: Iterable[tuple[int, int]]) -> Histogram:
    return Histogram(dict(pairs))
