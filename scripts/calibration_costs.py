"""Measure what the database, the broker and the queue manager use for a task without work, and for an item in a transaction of its own."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

import psutil

from benchmarks.bare_job import bare_job
from benchmarks.queue.noop import SLOTS, WORKERS, run
from controller.cluster.embedded import EmbeddedCluster
from core.ids import item_id
from core.services import embedded_services
from core.settings import Settings
from readers.records import Kind
from sql import bulk
from sql.findings import Item
from sql.migrate import migrate
from sql.session import Database

_ITEMS = 4_000
_TASKS = 3_000
_SERVERS = {"database": "postgres", "broker": "valkey"}


def _cpu() -> dict[str, float]:
    """CPU seconds so far of the services and processes below this one, by what they are."""
    out = {"database": 0.0, "broker": 0.0, "queue_manager": 0.0, "workers": 0.0}
    for process in psutil.Process().children(recursive=True):
        try:
            times, line = process.cpu_times(), " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            continue
        name = next((name for name, program in _SERVERS.items() if program in line.split(" ")[0]), None)
        name = name or ("queue_manager" if "queue_manager" in line or "queue-manager" in line else "workers")
        out[name] += times.user + times.system
    return out


def costs() -> dict[str, float]:
    """CPU seconds: of the database for an item, and of each part for a task."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        settings = Settings(storage=directory / "storage", scratch=directory / "scratch", slots=SLOTS)
        with embedded_services(settings, slots=WORKERS * SLOTS) as running:
            database = Database("db1", running.databases[0].url)
            migrate(database)
            with database.transaction() as conn:
                job = bare_job(conn, "items")
            before = _cpu()
            for number in range(_ITEMS):
                with database.transaction() as conn:
                    bulk.insert_items(conn, job, [_item(job, number)])
            item_s = (_cpu()["database"] - before["database"]) / _ITEMS
            with EmbeddedCluster(running, WORKERS, SLOTS, env=dict(os.environ)):
                run(database, settings, directory, 50)  # everything is up and warm
                before = _cpu()
                run(database, settings, directory, _TASKS)
                after = _cpu()
    return {"item_transaction_cpu_s": item_s} | {
        f"task_{name}_cpu_s": (after[name] - before[name]) / _TASKS for name in after
    }


def _item(job: uuid.UUID, number: int) -> Item:
    path = b"Custodian/Folder/Document %d.docx" % number
    return Item(
        id=item_id(job, None, path), parent=None, family=None, custodian=0, ordinal=path, depth=0, name=path.rpartition(b"/")[2],
        container_path=(path.decode(),), kind=Kind.FILE if hasattr(Kind, "FILE") else next(iter(Kind)), container=False,
        media_type="application/msword", size=12_000, sha256=bytes(32),
    )  # fmt: skip
