"""What a worker loads before it forks its slots: what they all need, no parser that a box has, and no threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LOADED = """
import os
import sys
import worker.main
from core.settings import Settings
from worker.parsers import load_plugins
from worker.slots.slot import preload
load_plugins(Settings().plugins)
preload(Settings(box={box}))
print(len(os.listdir("/proc/self/task")), *sys.modules)
"""
_CONSUMER = """
import sys
import worker.main
from celery.worker import WorkController
from core.settings import Settings
from worker.app import SlotConsumer, make_slot_app
from worker.slots.slot import preload
preload(Settings(box=True))
before = set(sys.modules)
without = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True, "task_events": False}
def run(database, job, task): pass
app = make_slot_app("redis://127.0.0.1:1/0", run)
WorkController(app=app, pool="solo", concurrency=1, queues="q", use_eventloop=False, consumer_cls=SlotConsumer, **without)
print(*set(sys.modules) - before)
"""
_READER = "readers.office.onenote.handler"
PARSERS = {"lxml", "pypdfium2", "selectolax", "pycdlib", "isal", "pypff"}


@pytest.mark.parametrize("box", [True, False])
def test_a_worker_forks_with_one_thread_and_what_its_slots_use(box: bool) -> None:
    """A thread that holds a lock at the fork would hang a slot: numpy's library starts one for each processor, so a
    replay brings it, in the slot. Parsers are the nursery's, and the supervisor's only where there are no boxes."""
    said = subprocess.run([sys.executable, "-c", _LOADED.format(box=box)], capture_output=True, text=True, check=True)
    threads, *modules = said.stdout.split()
    packages = {name.partition(".")[0] for name in modules}
    assert threads == "1"
    assert packages >= {"tantivy", "tzlocal", "zoneinfo"}
    assert not packages & {"numpy", "whoosh", "fastapi", "docker", "prometheus_client"}
    assert packages & PARSERS == (set() if box else PARSERS)
    assert (_READER in modules) is not box


def test_a_slot_imports_nothing_of_its_consumer_by_itself() -> None:
    """Celery imports much of itself when it is first used: sixteen slots would each do that beside the first task."""
    said = subprocess.run([sys.executable, "-c", _CONSUMER], capture_output=True, text=True, check=True)
    assert not [name for name in said.stdout.split() if name.partition(".")[0] in ("celery", "kombu")]


def test_a_nursery_has_every_parser_and_nothing_of_the_database() -> None:
    code = "import sys; from worker.box.main import load_everything\n"
    code += "load_everything(()); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = said.stdout.split()
    packages = {name.partition(".")[0] for name in modules}
    assert _READER in modules
    assert packages >= PARSERS
    assert not packages & {"sqlalchemy", "psycopg2", "redis", "celery", "tantivy", "whoosh", "prometheus_client"}
