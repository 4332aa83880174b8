"""What the broker and the collector pay for many workers that report once a second."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis

from benchmarks.timeline import block_values, wire_values, worker_values
from core.histogram import Histogram
from core.operations import Op
from core.records import JobOptions, NewTask, Phase
from core.roles import QUEUE_MANAGER
from core.roles import WORKER as WORKING
from core.services import embedded_services
from core.settings import Settings
from monitoring.counters import CounterDelta
from monitoring.frames import FrameMaker
from monitoring.observations import BLOCK, SPACE, WIRE, WORKER, Observation
from monitoring.sender import STREAM, FrameSender
from sql import jobs, workers
from sql.migrate import migrate
from sql.session import Database

WORKERS, PROCESSES, A_HOST = 200, 2, 10  # the first worker of each host looks at its kernel's counters
OPS = (Op.STAT, Op.OPEN, Op.READ, Op.CREATE, Op.WRITE, Op.CLOSE, Op.RENAME, Op.MKDIR)
CALLS = 200  # of each op, a second and worker
WARM_SECONDS, SECONDS = 4.0, 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """Shares of one core."""

    broker: float
    collector: float  # all of the queue manager, which collects
    databases: float
    waiting: int  # frames that lay at the broker at the end: it must not fall behind


def measure(directory: Path) -> Reporting:
    """WORKERS real senders, whose frames go through the broker into a real database, one job running."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch")
    with embedded_services(settings, slots=4) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        job = _job(database)
        incarnations = [_register(database, number) for number in range(WORKERS)]
        manager = subprocess.Popen(
            [sys.executable, "-m", "queue_manager"],
            env={**os.environ, **running.for_role(QUEUE_MANAGER).environment()},
            cwd=Path(__file__).parents[2],
        )
        try:
            return _while_reporting(running, job, incarnations, psutil.Process(manager.pid))
        finally:
            manager.terminate()
            manager.wait()
            database.dispose()


def _while_reporting(
    settings: Settings, job: uuid.UUID, incarnations: list[uuid.UUID], manager: psutil.Process
) -> Reporting:
    sending = settings.for_role(WORKING)
    assert sending.broker is not None
    assert settings.broker is not None
    context = multiprocessing.get_context("fork")
    until = time.time() + WARM_SECONDS + SECONDS + 3.0
    shares = [range(n, len(incarnations), PROCESSES) for n in range(PROCESSES)]
    senders = [context.Process(target=_send, args=(sending.broker, job, incarnations, part, until)) for part in shares]
    for sender in senders:
        sender.start()
    time.sleep(WARM_SECONDS)
    own = psutil.Process().children(recursive=True)
    broker, servers = _named(own, "valkey"), _named(own, "postgres")
    before, began = [_cpu(broker), _cpu([manager]), _cpu(servers)], time.monotonic()
    time.sleep(SECONDS)
    after, took = [_cpu(broker), _cpu([manager]), _cpu(servers)], time.monotonic() - began
    waiting = int(redis.Redis.from_url(settings.broker).xlen(STREAM))
    for sender in senders:
        sender.terminate()
        sender.join()
    used = [(now - then) / took for now, then in zip(after, before, strict=True)]
    return Reporting(broker=used[0], collector=used[1], databases=used[2], waiting=waiting)


def _named(processes: list[psutil.Process], word: str) -> list[psutil.Process]:
    out = []
    for process in processes:
        try:
            line = process.cmdline()
        except psutil.Error:  # ended meanwhile
            continue
        if line and word in line[0]:
            out.append(process)
    return out


def _cpu(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _job(database: Database) -> uuid.UUID:
    job = uuid.uuid4()
    with database.transaction(durable=True) as conn:
        jobs.create_job(
            conn,
            jobs.NewJob(
                id=job,
                name="reporting",
                client="",
                project="",
                source=b"/",
                device=0,
                inode=0,
                options=JobOptions(dispatch_seconds=3600.0),
                custodians=[],
                tasks=[NewTask(phase=Phase.WALK, weight=1, payload={})] * 100,
                workers=WORKERS,
                slots=4,
            ),
        )
    return job


def _register(database: Database, number: int) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        workers.register(
            conn, incarnation=incarnation, name=f"w{number}", host="h", pid=1, boot_id="", slots=4, version="0"
        )
    return incarnation


def _send(broker_url: str, job: uuid.UUID, incarnations: list[uuid.UUID], part: range, until: float) -> None:
    """Be the reporters of these workers, each at its own moment of the second."""
    makers = [(n, FrameMaker(f"w{n}", incarnations[n]), FrameSender(broker_url)) for n in part]
    deltas = [_deltas(job, random.Random(seed)) for seed in range(10)]
    second = 0
    began = time.time()
    while time.time() < until:
        for place, (number, maker, sender) in enumerate(makers):
            time.sleep(max(0.0, began + second + place / len(makers) - time.time()))
            frame = maker.frame(deltas[(second + number) % len(deltas)], time.time(), _observed(number, second))
            if frame is not None:
                sender.send(frame)
        second += 1


def _observed(number: int, second: int) -> list[Observation]:
    out = [Observation(WORKER, f"w{number}", worker_values(second))]
    if number % A_HOST == 0:
        host = f"{number:08x}"
        out.append(Observation(WIRE, f"{host}:filer:0:52", wire_values(second)))
        out.append(Observation(BLOCK, f"{host}:sda", block_values(second)))
        out.append(Observation(SPACE, f"{host}:sda:8:1", {"bytes": 1, "bytes_free": 1, "inodes": 1, "inodes_free": 1}))
    return out


def _deltas(job: uuid.UUID, rng: random.Random) -> list[CounterDelta]:
    out = []
    for op in OPS:
        histogram, total, most = Histogram(), 0, 0
        for _ in range(CALLS):
            ns = int(rng.lognormvariate(11.5, 0.8))
            histogram.record(ns)
            total, most = total + ns, max(most, ns)
        out.append(
            CounterDelta(
                job=job,
                phase=Phase.WALK,
                op=op,
                calls=CALLS,
                bytes=4096 * CALLS,
                errors=0,
                total_ns=total,
                max_ns=most,
                histogram=histogram,
            )
        )
    return out
