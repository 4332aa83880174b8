"""Prometheus metrics: the catalogue of all that edbench exposes, and the endpoint at which a process answers
`/metrics`.

docs/metrics.md, rules and dashboards are checked against the catalogue."""

from __future__ import annotations

import logging
import platform
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import UsageError
from core.extensions import installed_version
from core.histogram import OVERFLOW, Histogram, bucket_bounds

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
else:
    Collector, Metric = object, Any

__all__ = ["Collector", "Metric"]


FIRST_BITS, LAST_BITS = 12, 34
BOUNDS_NS = tuple(1 << bits for bits in range(FIRST_BITS, LAST_BITS + 1))
WORDS = len(BOUNDS_NS) + 2  # a count for each bound and one for what is above them, then the sum in nanoseconds

Timer = Callable[[int], None]  # takes one duration in nanoseconds


def bucket_of(ns: int) -> int:
    """The number of the bucket of a duration in nanoseconds."""
    return min(max((ns - 1).bit_length() - FIRST_BITS, 0), len(BOUNDS_NS)) if ns > 0 else 0


# For each bucket of core.histogram that of ours: it ends at or below our bound.
_OURS = (*(bucket_of(bucket_bounds(fine)[1]) for fine in range(OVERFLOW)), len(BOUNDS_NS))


def coarsened(histogram: Histogram, total_ns: int) -> list[int]:
    """Return the same durations as WORDS words."""
    words = [0] * WORDS
    for fine, count in histogram.counts.items():
        words[_OURS[fine]] += count
    words[-1] = total_ns
    return words


def count_into(words: list[int] | memoryview[int], at: int) -> Timer:
    """Return a function that counts durations into the WORDS words from `at` on. Only for one thread at a time."""
    total = at + WORDS - 1

    def count(ns: int) -> None:
        words[at + bucket_of(ns)] += 1
        words[total] += ns

    return count


def cumulative(words: Sequence[int]) -> tuple[list[tuple[str, float]], float]:
    """(bucket label, count up to there) and the sum in seconds, as a histogram's family takes them."""
    buckets, seen = [], 0
    labels = (*(repr(bound / 1e9) for bound in BOUNDS_NS), "+Inf")  # the bounds in seconds
    for label, count in zip(labels, words[: WORDS - 1], strict=True):
        seen += count
        buckets.append((label, float(seen)))
    return buckets, words[WORDS - 1] / 1e9


class Timers:
    """A histogram for each of some names, of durations that the threads of one process take."""

    def __init__(self, names: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._words = {name: [0] * WORDS for name in names}

    def timer(self, name: str) -> Timer:
        """Return a function that counts durations into the histogram of a name."""
        count = count_into(self._words[name], 0)

        def locked(ns: int) -> None:
            with self._lock:
                count(ns)

        return locked

    def read(self) -> dict[str, list[int]]:
        """The words of each histogram."""
        with self._lock:
            return {name: list(words) for name, words in self._words.items()}


WORKER, QUEUE_MANAGER, CONTROLLER = ROLES = ("worker", "queue_manager", "controller")

# name | type | labels | unit | who exposes it | meaning. Labels are bounded: no path, job or text from outside.
_TABLE = """
edbench_build_info | gauge | version python | 1 | all | Version of the process that answers
edbench_calls_total | counter | op | calls | worker | Storage calls, failed ones included
edbench_call_bytes_total | counter | op | bytes | worker | Bytes moved by storage calls
edbench_call_errors_total | counter | op | calls | worker | Storage calls that failed
edbench_call_seconds | histogram | op | seconds | worker | Latency of storage calls (closed loop)
edbench_calls_lost_total | counter | - | calls | worker | Storage calls made but not recorded, in no other count
edbench_tasks_total | counter | phase outcome | tasks | worker | Attempts of tasks that ended, by how
edbench_items_total | counter | kind | items | worker | Items that got a row
edbench_texts_total | counter | state | items | worker | Items whose text was extracted, by the state of the text
edbench_produced_files_total | counter | kind | files | worker | Files that extractions, processings and exports wrote
edbench_exceptions_total | counter | code | exceptions | worker | Exceptions recorded, of both levels
edbench_raw_bytes_total | counter | - | bytes | worker | Bytes of loose files worked on
edbench_extracted_bytes_total | counter | - | bytes | worker | Bytes of extracted children written
edbench_produced_bytes_total | counter | - | bytes | worker | Bytes of the files that extractions, processings and exports wrote
edbench_index_bytes_total | counter | - | bytes | worker | Bytes of index files published
edbench_slots | gauge | - | slots | worker | Slots of the worker
edbench_slot_busy_seconds_total | counter | phase | seconds | worker | Time that slots were running tasks, all slots together
edbench_frames_waiting | gauge | - | frames | worker | Frames of call records not yet taken by the broker
edbench_frames_lost_total | counter | - | frames | worker | Frames dropped because the broker did not answer
edbench_worker_cpu_seconds_total | counter | - | seconds | worker | CPU time of the worker's processes
edbench_worker_run_queue_seconds_total | counter | - | seconds | worker | Time that its threads waited for a core
edbench_worker_resident_bytes | gauge | - | bytes | worker | Resident memory of its processes, shared pages counted in each
edbench_worker_cores | gauge | - | cores | worker | Cores that the worker may use
edbench_wire_ops_total | counter | host device op | wire ops | worker | Wire ops of an NFS mount, by the kernel's name
edbench_wire_transmissions_total | counter | host device op | requests | worker | Times that wire ops were sent, retransmissions included
edbench_wire_timeouts_total | counter | host device op | requests | worker | Major timeouts
edbench_wire_errors_total | counter | host device op | wire ops | worker | Wire ops that ended with an error, where the kernel counts them
edbench_wire_sent_bytes_total | counter | host device op | bytes | worker | Bytes sent, headers included
edbench_wire_received_bytes_total | counter | host device op | bytes | worker | Bytes received, headers included
edbench_wire_queue_seconds_total | counter | host device op | seconds | worker | Time that requests waited to be sent
edbench_wire_rtt_seconds_total | counter | host device op | seconds | worker | Time from sending to the reply
edbench_wire_execute_seconds_total | counter | host device op | seconds | worker | Time from making the request to its end
edbench_wire_read_bytes_total | counter | host device | bytes | worker | Payload read over the wire
edbench_wire_written_bytes_total | counter | host device | bytes | worker | Payload written over the wire
edbench_block_reads_total | counter | host device | requests | worker | Reads that a disk completed
edbench_block_writes_total | counter | host device | requests | worker | Writes that it completed
edbench_block_read_bytes_total | counter | host device | bytes | worker | Bytes read from it
edbench_block_written_bytes_total | counter | host device | bytes | worker | Bytes written to it
edbench_block_read_seconds_total | counter | host device | seconds | worker | Time of its reads, added up over requests
edbench_block_write_seconds_total | counter | host device | seconds | worker | Time of its writes, added up over requests
edbench_block_busy_seconds_total | counter | host device | seconds | worker | Time with any request in flight
edbench_block_queued_seconds_total | counter | host device | seconds | worker | Its growth each second is the mean queue depth
edbench_block_in_flight | gauge | host device | requests | worker | Requests in flight
edbench_space_bytes | gauge | host device | bytes | worker | Size of the storage root's file system
edbench_space_free_bytes | gauge | host device | bytes | worker | Bytes of it that are free to ordinary users
edbench_space_inodes | gauge | host device | inodes | worker | Inodes of that file system; 0 where it has no inode table
edbench_space_free_inodes | gauge | host device | inodes | worker | Free inodes of that file system
edbench_database_transaction_seconds | histogram | database | seconds | worker queue_manager | Transactions of slots, or of the queue manager: from asking for a connection to the end of the commit
edbench_queue_tasks | gauge | database phase state | tasks | queue_manager | Tasks of running jobs that are not done
edbench_queue_oldest_pending_seconds | gauge | database | seconds | queue_manager | Age of the oldest pending task of a running job
edbench_queue_dispatched_total | counter | database | tasks | queue_manager | Tasks sent to the workers
edbench_queue_unclaimed_total | counter | database | tasks | queue_manager | Messages that no slot claimed in time
edbench_queue_lease_expiries_total | counter | database | tasks | queue_manager | Leases that expired
edbench_queue_slots | gauge | database | slots | queue_manager | Slots of the live workers, as the dispatcher counts them
edbench_queue_manager_active | gauge | database | 1 | queue_manager | 1 while this one dispatches the database's tasks
edbench_database_commits_total | counter | database | transactions | queue_manager | Commits, by the server's own count
edbench_database_rollbacks_total | counter | database | transactions | queue_manager | Transactions rolled back, by the server's own count
edbench_database_rows_total | counter | database | rows | queue_manager | Rows inserted, updated and deleted, by the server's own count
edbench_collector_frames_total | counter | - | frames | queue_manager | Frames of call records stored in the databases
edbench_collector_undecodable_total | counter | - | frames | queue_manager | Entries of the broker's stream that were no frames
edbench_jobs | gauge | database type state | jobs | controller | Jobs by type and state
edbench_database_up | gauge | database | 1 | controller | 1 while the database answers
edbench_broker_up | gauge | - | 1 | controller | 1 while the broker answers
edbench_collector_waiting_frames | gauge | - | frames | controller | Frames in the broker's stream that no collector has stored yet
edbench_collector_lag_seconds | gauge | - | seconds | controller | Age of the oldest of them, by the broker's clock
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """One metric, by the name it is scraped under (`_total` included; histograms without `_bucket`)."""

    name: str
    type: str  # counter, gauge, histogram
    labels: tuple[str, ...]
    unit: str
    roles: tuple[str, ...]  # who exposes it
    help: str


def _specs() -> Iterator[MetricSpec]:
    for line in _TABLE.strip().splitlines():
        name, type_, labels, unit, roles, meaning = (cell.strip() for cell in line.split("|"))
        yield MetricSpec(
            name=name,
            type=type_,
            labels=() if labels == "-" else tuple(labels.split()),
            unit=unit,
            roles=ROLES if roles == "all" else tuple(roles.split()),
            help=meaning,
        )


SPECS = {spec.name: spec for spec in _specs()}


def family(name: str, values: Mapping[tuple[str, ...], float]) -> Metric:
    """A counter or gauge: its values by their labels."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    spec = SPECS[name]
    made = (CounterMetricFamily if spec.type == "counter" else GaugeMetricFamily)(name, spec.help, labels=spec.labels)
    for labels, value in values.items():
        made.add_metric(labels, value)
    return made


def durations(name: str, words: Mapping[str, Sequence[int]]) -> Metric:
    """A histogram: its WORDS words by their one label."""
    from prometheus_client.core import HistogramMetricFamily

    spec = SPECS[name]
    made = HistogramMetricFamily(name, spec.help, labels=spec.labels)
    for label, counts in words.items():
        made.add_metric((label,), *cumulative(counts))
    return made


class Readings(Collector):
    """Metrics without labels that something else counts anyway; each is read when it is scraped."""

    def __init__(self, readings: Mapping[str, Callable[[], float]]) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        """Return the metric families."""
        return (family(name, {(): read()}) for name, read in self._readings.items())


log = logging.getLogger(__name__)

PORT_VARIABLE, ADDRESS_VARIABLE = "EDBENCH_METRICS_PORT", "EDBENCH_METRICS_ADDRESS"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address at which a process answers Prometheus; port 0: none."""

    port: int = 0
    address: str = "127.0.0.1"

    def environment(self, offset: int = 0) -> dict[str, str]:
        """The variables that give another process of this host the port `offset` further on; none for port 0."""
        if not self.port:
            return {}
        return {PORT_VARIABLE: str(self.port + offset), ADDRESS_VARIABLE: self.address}

    def serve(self, collectors: Iterable[Collector]) -> Callable[[], None]:
        """Answer from a thread; return a function that ends it. Raises UsageError if it cannot listen."""
        if self.port == 0:
            return _nothing
        from prometheus_client import start_http_server

        try:
            server, thread = start_http_server(self.port, addr=self.address, registry=make_registry(collectors))
        except (OSError, OverflowError) as e:
            raise UsageError(
                f"cannot serve metrics on {self.address}:{self.port}: {getattr(e, 'strerror', None) or e};"
                f" choose another {PORT_VARIABLE}, or 0 for none"
            ) from e

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop

    def serve_or_log(self, collectors: Iterable[Collector]) -> Callable[[], None]:
        """Answer as `serve` does, or log the error, if the work does not depend on it."""
        try:
            return self.serve(collectors)
        except UsageError as error:
            log.error("%s", error)
            return _nothing


NOWHERE = Endpoint()


def read_endpoint(env: Mapping[str, str]) -> Endpoint:
    """Read EDBENCH_METRICS_PORT and EDBENCH_METRICS_ADDRESS. Raises UsageError for an invalid port."""
    text = env.get(PORT_VARIABLE) or "0"
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65_535:
        raise UsageError(f"{PORT_VARIABLE} is {text!r}; it must be a port number, or 0 for none")
    return Endpoint(int(text), env.get(ADDRESS_VARIABLE) or "127.0.0.1")


def make_registry(collectors: Iterable[Collector]) -> CollectorRegistry:
    """A registry of these and `edbench_build_info`."""
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    for collector in (_BuildInfo(), *collectors):
        registry.register(collector)
    return registry


class _BuildInfo(Collector):
    def collect(self) -> Iterator[Metric]:
        yield family("edbench_build_info", {(installed_version(), platform.python_version()): 1})


def _nothing() -> None:
    return None
