"""Attaches the databases of runs: an experiment marks them when its workers are there, and takes the mark off at the end.

The marks are read from the server twice a second, so a queue manager that was started again goes on where it was.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

import redis

from core.celery_app import queues_of
from core.errors import DatabaseFault, EdbenchError
from core.program.stopping import Stop
from core.services.run_databases import RunMark, run_settings
from core.settings import Settings
from monitoring.broker import connect
from monitoring.sender import stream_of
from sql.runs import marked_runs
from sql.session import Database

LOOK_SECONDS = 0.5
APPLICATION = "edbench queue_manager runs"

log = logging.getLogger(__name__)


class Runs:
    """`manage`: manages the databases of settings until its stop is set."""

    def __init__(self, settings: Settings, manage: Callable[[Settings, Stop], None], stop: Stop) -> None:
        self._settings, self._manage, self._stop = settings, manage, stop
        self._managed: dict[str, tuple[Stop, threading.Thread]] = {}
        home = settings.databases[0]
        self._home = Database(home.name, home.url, application=APPLICATION, pool_size=1)

    def run(self) -> None:
        """Until stopped."""
        try:
            while not self._stop.wait(LOOK_SECONDS):
                try:
                    with self._home.transaction() as conn:
                        marks = {mark.run: mark for mark in marked_runs(conn)}
                except DatabaseFault:
                    continue  # its own manager reports that, and a run goes on meanwhile
                self._follow(marks)
        finally:
            self._follow({})
            self._home.dispose()

    def _follow(self, marks: Mapping[str, RunMark]) -> None:
        gone = [self._managed.pop(run) for run in [run for run in self._managed if run not in marks]]
        for stop, _ in gone:
            stop.set()
        for _, thread in gone:
            thread.join()
        for run, mark in marks.items():
            if run not in self._managed and mark.databases <= len(self._settings.databases):
                stop = Stop()
                thread = threading.Thread(target=self._one, args=(mark, stop), name=f"run {run}", daemon=True)
                self._managed[run] = stop, thread
                thread.start()

    def _one(self, mark: RunMark, stop: Stop) -> None:
        log.info("run %s: attached", mark.run)
        try:
            self._manage(run_settings(self._settings, mark), stop)
        except EdbenchError as error:
            log.error("run %s cannot be managed: %s", mark.run, error)


def forget_messages(settings: Settings) -> None:
    """Remove what a run has left at the broker; one that is away has lost it."""
    assert settings.broker is not None
    queues = queues_of([database.name for database in settings.databases], ("", *settings.hosts), settings.run)
    try:
        with connect(settings.broker) as client:
            client.delete(stream_of(settings.run), *queues, *(f"_kombu.binding.{queue}" for queue in queues))
    except redis.RedisError as error:
        log.warning("the messages of run %s stay at the broker: %s", settings.run, error)
