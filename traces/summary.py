"""What a trace holds, in numbers: `summarise` reads it once and keeps a bounded amount (and 30 bytes a node)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from core.histogram import Histogram
from core.operations import Op
from traces.last_names import LastNames
from traces.model import Call, Trace, TraceHeader
from traces.tree import Extents, TreeShape, tree_shape

BINS = 200  # of the trace's time, at most
_DATA = (Op.READ, Op.WRITE)


@dataclass(slots=True)
class OpSummary:
    """The calls of one op, or of one op in one phase."""

    calls: int = 0
    errors: int = 0
    bytes: int = 0
    busy_ns: int = 0  # their durations added up
    longest_ns: int = 0
    durations: Histogram = field(default_factory=Histogram)

    def take(self, call: Call) -> None:
        """One more call."""
        self.calls += 1
        self.errors += call.error != 0
        self.bytes += call.bytes
        self.busy_ns += call.duration_ns
        self.longest_ns = max(self.longest_ns, call.duration_ns)
        self.durations.record(call.duration_ns, call.bytes)

    def add(self, other: OpSummary) -> None:
        """Those of another one as well."""
        self.calls += other.calls
        self.errors += other.errors
        self.bytes += other.bytes
        self.busy_ns += other.busy_ns
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        self.durations.add(other.durations)


@dataclass(slots=True)
class Access:
    """Sizes and order of reads, or of writes."""

    sizes: Counter[int] = field(default_factory=Counter)  # bit length of the bytes moved → calls
    sequential: int = 0  # calls that begin where the stream's last one on that file ended, or at 0 as its first one


@dataclass(slots=True, kw_only=True)
class Timeline:
    """The trace's time in equal bins."""

    bin_ns: int
    calls: list[Counter[Op]]  # that began in each bin
    busy_ns: list[int]  # of all streams in each bin; divided by the bin's length, the mean number of calls in flight

    @property
    def in_flight(self) -> list[float]:
        """Mean calls in flight, bin by bin."""
        return [busy / self.bin_ns for busy in self.busy_ns]


@dataclass(slots=True, kw_only=True)
class TraceSummary:
    """Everything that `edbench trace info` says of a trace."""

    header: TraceHeader
    ops: dict[Op, OpSummary]
    phases: dict[tuple[str, Op], OpSummary]
    access: dict[Op, Access]  # of READ and WRITE
    think: Histogram  # between the end of a call and the start of the stream's next
    think_ns: int
    overlapping: int  # calls that began before the stream's last one had ended
    busiest: list[tuple[str, int, int]]  # worker, slot, busy ns; in the header's order
    timeline: Timeline
    tree: TreeShape


def summarise(trace: Trace) -> TraceSummary:
    """Read the whole trace once. Raises UsageError when it is damaged."""
    header = trace.header
    reader = _Reader(header, len(trace.nodes))
    busy = []
    for number, stream in enumerate(header.streams):
        busy.append((stream.worker, stream.slot, reader.read(trace, number)))
    reader.names.settle()
    phases = {(header.phases[phase], op): of for (phase, op), of in reader.counted.items()}
    return TraceSummary(
        header=header,
        ops=_by_op(phases),
        phases=phases,
        access=reader.access,
        think=reader.think,
        think_ns=reader.think_ns,
        overlapping=reader.overlapping,
        busiest=busy,
        timeline=reader.timeline,
        tree=tree_shape(trace.nodes, reader.extents, reader.names),
    )


def _by_op(phases: dict[tuple[str, Op], OpSummary]) -> dict[Op, OpSummary]:
    out: dict[Op, OpSummary] = {}
    for (_, op), of in sorted(phases.items(), key=lambda pair: pair[0][1]):
        out.setdefault(op, OpSummary()).add(of)
    return out


class _Reader:
    def __init__(self, header: TraceHeader, nodes: int) -> None:
        self.counted: dict[tuple[int, Op], OpSummary] = {}  # by number of the phase
        self.access = {op: Access() for op in _DATA}
        self.think = Histogram()
        self.think_ns = self.overlapping = 0
        self.extents = Extents(nodes)
        self.names = LastNames(nodes)
        bins = min(BINS, max(1, header.duration_ns))
        self.timeline = Timeline(
            bin_ns=-(-max(1, header.duration_ns) // bins), calls=[Counter() for _ in range(bins)], busy_ns=[0] * bins
        )

    def read(self, trace: Trace, stream: int) -> int:
        """Take the calls of one stream; the nanoseconds they took together."""
        ended = -1  # no call yet: what is before the first one is no think time
        busy = 0
        nexts: dict[int, int] = {}  # file → where its next sequential call would begin
        for call in trace.calls(stream):
            self._count(call)
            self._place(call)
            if call.op in _DATA:
                self._size(call, nexts)
            elif call.op is Op.CLOSE:
                nexts.pop(call.node, None)
            elif call.op is Op.RENAME and not call.error:
                self.names.take(call)
            pause = call.start_ns - ended
            if pause < 0:
                self.overlapping += 1
            elif ended >= 0:
                self.think.record(pause)
                self.think_ns += pause
            ended = max(ended, call.start_ns + call.duration_ns)
            busy += call.duration_ns
        return busy

    def _count(self, call: Call) -> None:
        key = (call.phase, call.op)
        of = self.counted.get(key)
        if of is None:
            of = self.counted[key] = OpSummary()
        of.take(call)

    def _size(self, call: Call, nexts: dict[int, int]) -> None:
        if call.error:
            return
        access = self.access[call.op]
        access.sizes[call.bytes.bit_length()] += 1
        access.sequential += nexts.get(call.node, 0) == call.argument
        end = call.argument + call.bytes
        nexts[call.node] = end
        if call.op is Op.WRITE:
            self.extents.grow(call.node, end)

    def _place(self, call: Call) -> None:
        timeline = self.timeline
        width, last_bin = timeline.bin_ns, len(timeline.busy_ns) - 1
        first = min(call.start_ns // width, last_bin)
        timeline.calls[first][call.op] += 1
        left = call.duration_ns
        room = (first + 1) * width - call.start_ns
        while left > room and first < last_bin:
            timeline.busy_ns[first] += room
            left -= room
            first += 1
            room = width
        timeline.busy_ns[first] += left
