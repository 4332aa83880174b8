"""Prometheus metrics of the controller: jobs by type and state, services that answer, the collector's lag."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg2
import redis

from core.errors import DatabaseFault
from core.job_types import JobType
from core.records import JobState
from core.settings import Settings
from monitoring.broker import STREAM, connect
from monitoring.metrics import Collector, Endpoint, Metric, family
from sql.figures import FIGURES
from sql.session import Database


@dataclass(frozen=True, slots=True)
class Backlog:
    """Frames in the broker's stream that no collector has stored yet."""

    frames: int
    oldest_seconds: float  # age of the first of them by the broker's clock; 0 without any


def read_backlog(client: redis.Redis) -> Backlog:
    """Read the current backlog. Raises redis.RedisError."""
    pipeline: Any = client.pipeline(transaction=False)
    pipeline.xlen(STREAM)
    pipeline.xrange(STREAM, count=1)
    pipeline.time()
    frames, first, (seconds, microseconds) = pipeline.execute()
    if not first:
        return Backlog(0, 0.0)
    milliseconds = int(first[0][0].partition(b"-")[0])  # an entry's id begins with its time
    return Backlog(frames, max(0.0, seconds + microseconds / 1e6 - milliseconds / 1e3))


EVERY_SECONDS = 2.0

log = logging.getLogger(__name__)


class _Watch(threading.Thread):
    """A thread that reads one value repeatedly, so that a scrape waits for nothing; the value is None while its source
    does not answer."""

    def __init__(self, name: str, stop: threading.Event, look: Callable[[], object]) -> None:
        super().__init__(name=f"metrics of {name}", daemon=True)
        self._halt = stop
        self._look = look
        self.seen: object | None = None

    def run(self) -> None:
        """Read the value until stopped."""
        while not self._halt.is_set():
            try:
                self.seen = self._look()
            except (DatabaseFault, psycopg2.Error, redis.RedisError, OSError) as error:
                self.seen = None
                log.debug("%s: %s", self.name, error)
            self._halt.wait(EVERY_SECONDS)


class ControllerMetrics(Collector):
    """Metrics that threads, one for each service, read every few seconds from `start` to `stop`."""

    def __init__(self, databases: Sequence[Database], broker_url: str | None) -> None:
        """Create the metrics. The threads share `databases` with others."""
        self._stop = threading.Event()
        self._databases = {d.name: _Watch(d.name, self._stop, partial(_jobs, d)) for d in databases}
        self._broker: _Watch | None = None
        if broker_url is not None:
            client = connect(broker_url)
            self._broker = _Watch("broker", self._stop, partial(read_backlog, client))

    def start(self) -> None:
        """Start the threads."""
        for watch in self._watches():
            watch.start()

    def stop(self) -> None:
        """Stop the threads. Returns at once; a read that hangs ends by itself."""
        self._stop.set()

    def _watches(self) -> Iterator[_Watch]:
        yield from self._databases.values()
        if self._broker is not None:
            yield self._broker

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        seen = {name: watch.seen for name, watch in self._databases.items()}
        yield family(
            "edbench_jobs",
            {
                (name, kind.value, state.value): counts.get((kind, state), 0)
                for name, counts in seen.items()
                if isinstance(counts, dict)
                for kind, state in itertools.product(JobType, JobState)
            },
        )
        yield family("edbench_database_up", {(name,): counts is not None for name, counts in seen.items()})
        if self._broker is not None:
            yield from _backlog(self._broker.seen)


def _jobs(database: Database) -> dict[tuple[JobType, JobState], int]:
    return {(JobType(row.type), JobState(row.state)): row.jobs for row in database.ask(FIGURES.jobs_by_state)}


def _backlog(seen: object | None) -> Iterator[Metric]:
    yield family("edbench_broker_up", {(): isinstance(seen, Backlog)})
    if isinstance(seen, Backlog):
        yield family("edbench_collector_waiting_frames", {(): seen.frames})
        yield family("edbench_collector_lag_seconds", {(): seen.oldest_seconds})


@contextmanager
def metrics_served(settings: Settings, endpoint: Endpoint) -> Iterator[None]:
    """Answer Prometheus for the controller while the block lasts, with database connections of its own. Does nothing
    for port 0; a port in use is only logged."""
    if not endpoint.port:
        yield
        return
    databases = [Database(a.name, a.url, application="edbench metrics", pool_size=1) for a in settings.databases]
    metrics = ControllerMetrics(databases, settings.broker)
    silence = endpoint.serve_or_log((metrics,))
    metrics.start()
    try:
        yield
    finally:
        metrics.stop()
        silence()
