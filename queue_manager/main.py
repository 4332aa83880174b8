"""`python -m queue_manager`: one manager for each database of the environment, until SIGTERM or SIGINT.

It also collects the call records that workers send to the broker, because it runs for every database whenever workers
do."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial

import psycopg2
import redis

from core.errors import DatabaseFault, EdbenchError, UsageError
from core.program import Stop, without_logins
from core.settings import Settings, read_settings
from monitoring.collector import Collector
from monitoring.metrics import NOWHERE, Endpoint, read_endpoint
from queue_manager.dispatcher import Commons
from queue_manager.manager import Manager, Runs, forget_messages
from queue_manager.metrics import DatabaseNumbers, QueueMetrics, collectors
from sql.session import Database

log = logging.getLogger("queue_manager")


DRAIN_SECONDS = 3.0  # at the end, for what workers recorded last


def manage_all(
    settings: Settings, stop: Stop, endpoint: Endpoint = NOWHERE, metrics: QueueMetrics | None = None
) -> None:
    """Manage every database of the settings until `stop` is set. Raises UsageError for unusable settings.

    `endpoint`: where to answer Prometheus; `metrics`: of a run, those of the system's own databases."""
    if not settings.databases:
        raise UsageError("EDBENCH_DATABASES is not set; write db1=postgresql+psycopg2://user@host/db")
    if settings.broker is None:
        raise UsageError("EDBENCH_BROKER is not set; write redis://host:6379/0")
    metrics = metrics or QueueMetrics(a.name for a in settings.databases)
    numbers = metrics.of_run(a.name for a in settings.databases) if settings.run else nullcontext(metrics.of)
    with numbers as of:
        _manage(settings, stop, endpoint, metrics, of)


def _manage(
    settings: Settings, stop: Stop, endpoint: Endpoint, metrics: QueueMetrics, numbers: Mapping[str, DatabaseNumbers]
) -> None:
    assert settings.broker is not None
    databases = [
        Database(a.name, a.url, application="edbench queue_manager", timer=metrics.timers.timer(a.name), repeats=True)
        for a in settings.databases
    ]
    commons = Commons()
    managers = [
        Manager(
            d,
            settings.broker,
            stop,
            commons,
            numbers[d.name],
            observe=settings.observe,
            apart=len(settings.hosts) > 1,
            run=settings.run,
        )
        for d in databases
    ]
    collector = Collector(settings.broker, {database.name: database for database in databases}, run=settings.run)
    silence = endpoint.serve_or_log(collectors(metrics, collector))
    parts = [collector.run, *(manager.run for manager in managers)]
    if not settings.run:  # of a run there are no further runs
        parts.append(Runs(settings, partial(manage_all, metrics=metrics), stop).run)
    with ThreadPoolExecutor(len(parts), thread_name_prefix="manager") as threads:
        ends = [threads.submit(_until_any_ends, part, stop) for part in parts]
        stop.wait()
        collector.stop()
        wait(ends)
        for end in ends:
            end.result()
    _drain(collector)
    if settings.run:
        forget_messages(settings)
    silence()


def _until_any_ends(part: Callable[[], None], stop: Stop) -> None:
    """Run one part of the manager and stop all parts when it ends, because some of them do not suffice."""
    try:
        part()
    finally:
        stop.set()


def _drain(collector: Collector) -> None:
    """Store what the workers sent before they left; what cannot be stored now stays for the next collector."""
    until = time.monotonic() + DRAIN_SECONDS
    try:
        while time.monotonic() < until and collector.step(block=False):
            pass
    except (redis.RedisError, OSError, DatabaseFault, psycopg2.IntegrityError) as error:
        log.warning("the last storage calls were not collected from the broker: %s", error)


def main(env: Mapping[str, str]) -> int:
    """Exit status: 0 after a signal, 2 for unusable settings, 1 for anything else."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = read_settings(env)
        logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        manage_all(settings, stop, read_endpoint(env))
    except EdbenchError as error:
        sys.stderr.write(f"queue_manager: {without_logins(str(error))}\n")
        return 2 if isinstance(error, UsageError) else 1
    return 0


def run() -> int:
    """Run `main` with this process's environment."""
    return main(os.environ)
