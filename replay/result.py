"""What a client found out, and what several found out together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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

    def to_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "errors": self.errors,
            "bytes": self.bytes,
            "response": _plain(self.response),
            "service": _plain(self.service),
            "response_max_ns": self.response_max_ns,
            "service_max_ns": self.service_max_ns,
            "response_total_ns": self.response_total_ns,
            "service_total_ns": self.service_total_ns,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> OpResult:
        return OpResult(
            response=_histogram(data["response"]),
            service=_histogram(data["service"]),
            **{key: int(value) for key, value in data.items() if key not in ("response", "service")},
        )


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
    lateness_max_ns: int = 0  # how much later than intended a call began, at most
    waited_s: float = 0.0  # for calls of other clients, in sum
    cpu_s: float = 0.0
    elapsed_s: float = 0.0  # from the start to the end of the last call
    unrecorded_opens: int = 0  # files that a call of the trace needed open and no call of the trace had opened

    @property
    def calls(self) -> int:
        return sum(found.calls for found in self.ops.values())

    @property
    def errors(self) -> int:
        return sum(found.errors for found in self.ops.values())

    @property
    def bytes(self) -> int:
        return sum(found.bytes for found in self.ops.values())

    def response(self) -> Histogram:
        """Of all ops together."""
        return _merged(found.response for found in self.ops.values())

    def service(self) -> Histogram:
        """Of all ops together."""
        return _merged(found.service for found in self.ops.values())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` makes it again."""
        return {
            "clients": self.clients,
            "ops": {op.label: found.to_json() for op, found in self.ops.items()},
            "differences": [
                {"op": d.op.label, "expected": d.expected, "found": d.found, "calls": d.calls} for d in self.differences
            ],
            "by_second": list(self.by_second),
            "lateness_max_ns": self.lateness_max_ns,
            "waited_s": self.waited_s,
            "cpu_s": self.cpu_s,
            "elapsed_s": self.elapsed_s,
            "unrecorded_opens": self.unrecorded_opens,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ClientResult:
        """Raises KeyError or ValueError for what `to_json` never gave."""
        return ClientResult(
            clients=int(data["clients"]),
            ops={Op[label.upper()]: OpResult.from_json(found) for label, found in data["ops"].items()},
            differences=tuple(
                Difference(op=Op[d["op"].upper()], expected=d["expected"], found=d["found"], calls=d["calls"])
                for d in data["differences"]
            ),
            by_second=tuple(int(calls) for calls in data["by_second"]),
            lateness_max_ns=int(data["lateness_max_ns"]),
            waited_s=float(data["waited_s"]),
            cpu_s=float(data["cpu_s"]),
            elapsed_s=float(data["elapsed_s"]),
            unrecorded_opens=int(data["unrecorded_opens"]),
        )


def merge_results(results: Iterable[ClientResult]) -> ClientResult:
    """Several clients that started together: sums, merged histograms, the largest of what is a maximum."""
    found = list(results)
    ops: dict[Op, list[OpResult]] = {}
    differences: dict[tuple[Op, int, int], int] = {}
    seconds = [0] * max((len(one.by_second) for one in found), default=0)
    for one in found:
        for op, of_op in one.ops.items():
            ops.setdefault(op, []).append(of_op)
        for d in one.differences:
            key = (d.op, d.expected, d.found)
            differences[key] = differences.get(key, 0) + d.calls
        for second, calls in enumerate(one.by_second):
            seconds[second] += calls
    return ClientResult(
        clients=sum(one.clients for one in found),
        ops={op: _merged_op(ops[op]) for op in sorted(ops)},
        differences=tuple(
            Difference(op=o, expected=e, found=f, calls=n) for (o, e, f), n in sorted(differences.items())
        ),
        by_second=tuple(seconds),
        lateness_max_ns=max((one.lateness_max_ns for one in found), default=0),
        waited_s=sum(one.waited_s for one in found),
        cpu_s=sum(one.cpu_s for one in found),
        elapsed_s=max((one.elapsed_s for one in found), default=0.0),
        unrecorded_opens=sum(one.unrecorded_opens for one in found),
    )


def _merged_op(found: list[OpResult]) -> OpResult:
    return OpResult(
        calls=sum(one.calls for one in found),
        errors=sum(one.errors for one in found),
        bytes=sum(one.bytes for one in found),
        response=_merged(one.response for one in found),
        service=_merged(one.service for one in found),
        response_max_ns=max(one.response_max_ns for one in found),
        service_max_ns=max(one.service_max_ns for one in found),
        response_total_ns=sum(one.response_total_ns for one in found),
        service_total_ns=sum(one.service_total_ns for one in found),
    )


def _merged(found: Iterable[Histogram]) -> Histogram:
    out = Histogram()
    for one in found:
        out.add(one)
    return out


def _plain(histogram: Histogram) -> list[list[int]]:
    return [[bucket, histogram.counts[bucket]] for bucket in sorted(histogram.counts)]


def _histogram(pairs: Iterable[Iterable[int]]) -> Histogram:
    return Histogram({int(bucket): int(n) for bucket, n in pairs})
