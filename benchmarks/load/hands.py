"""No-op workers: processes that take messages, claim their tasks and finish them with nothing found.

Forked from this process, so that two hundred fit on a small machine; the ledger, the broker and the queue manager are
the real ones. What a real worker does beside (parse, write, record calls) is what they leave out.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_ulonglong
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import redis

from core.celery_app import queue_name
from core.errors import DatabaseFault, TaskLost
from core.roles import WORKER
from core.settings import Settings
from sql import ledger, workers
from sql.findings import TaskResult
from sql.session import Database

_FORK = multiprocessing.get_context("fork")


@contextmanager
def hands(settings: Settings, number: int) -> Iterator[Synchronized[Any]]:
    """So many of them while the block runs; gives the count of tasks that they lost to another claim."""
    lost = _FORK.Value(c_ulonglong, 0)
    settings = settings.for_role(WORKER)
    processes = [_FORK.Process(target=_work, args=(settings, n, lost), daemon=True) for n in range(number)]
    registrar = _FORK.Process(target=_live, args=(settings, number), daemon=True)
    for process in (registrar, *processes):
        process.start()
    try:
        yield lost
    finally:
        for process in (*processes, registrar):
            process.terminate()
        for process in (*processes, registrar):
            process.join()


def _live(settings: Settings, slots: int) -> None:
    """One row in the registry for all of them, with a sign of life each second."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    databases, me = _databases(settings), uuid.uuid4()
    for database in databases.values():
        with database.transaction() as conn:
            workers.register(
                conn,
                incarnation=me,
                name="hands",
                host="load",
                pid=os.getpid(),
                boot_id="",
                slots=slots,
                version="load",
            )
    while True:
        for database in databases.values():
            with database.transaction() as conn:
                workers.seen(conn, me, 0.0, 0.0)
        time.sleep(1.0)


def _databases(settings: Settings) -> dict[str, Database]:
    return {d.name: Database(d.name, d.url, application="edbench hand", pool_size=1) for d in settings.databases}


def _work(settings: Settings, number: int, lost: Synchronized[Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    databases = _databases(settings)
    queues = [queue_name(name) for name in databases]
    assert settings.broker is not None
    broker = redis.Redis.from_url(settings.broker)
    while True:
        # In turns over the queues, as Celery's consumer does: BRPOP prefers the first that has anything.
        queues.append(queues.pop(0))
        taken = broker.brpop(queues, timeout=1)
        if taken is not None:
            _one(databases, taken[1], number, lost)


def _one(databases: dict[str, Database], message: bytes | str, number: int, lost: Synchronized[Any]) -> None:
    arguments = json.loads(base64.b64decode(json.loads(message)["body"]))[0]
    database, job, task = databases[arguments[0]], uuid.UUID(arguments[1]), uuid.UUID(arguments[2])
    try:
        with database.transaction() as conn:
            claimed = ledger.claim(conn, job, task, uuid.uuid4(), f"hand-{number}", number)
        if claimed is not None:
            with database.transaction() as conn:
                ledger.finish(conn, claimed, TaskResult())
    except TaskLost:
        with lost.get_lock():
            lost.value += 1
    except DatabaseFault:
        return  # the lease brings it back
