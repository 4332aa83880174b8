"""The result of a discovery job, as `discover --json` writes it and its summary shows it."""

from __future__ import annotations

import dataclasses
import platform
import uuid
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sqlalchemy import Connection

from controller.browse.counts import JobCounts, count_job
from controller.databases import JobHandle
from controller.jobs.disturbances import disturbances
from controller.jobs.rates import GB, gb_per_hour, per_second
from controller.observe.place_kind import read_mounts, storage_label
from controller.observe.wire import wire_json
from core.clock import Clock
from core.names import display_name
from core.records import FilerChoice
from core.settings import Settings
from monitoring.aggregate import calls_by_op
from sql.jobs import phase_elapsed
from sql.queries import QUERIES
from sql.requeue import requeued_files
from sql.workers import LIVE_SECONDS

FRAMES_SECONDS = 30.0  # frames come once a second, where the machine has a processor for whoever sends and stores them
_POLL_SECONDS = 0.1


def wait_for_frames(handle: JobHandle, clock: Clock, seconds: float = FRAMES_SECONDS) -> bool:
    """Wait until every worker that can still send has its calls stored up to the job's end; False when not in time.

    Call it while the workers still live: their last second of calls travels after the job's end. One that falls silent
    meanwhile had some to send.
    """
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    awaited: set[uuid.UUID] = set()
    while True:
        with handle.database.transaction() as conn:
            workers = _workers(conn, handle.id)
        behind = {worker.incarnation for worker in workers if not worker.complete and not worker.stopped}
        awaited |= {worker.incarnation for worker in workers if worker.due} & behind
        if all(worker.complete for worker in workers if worker.due):
            return not awaited & behind
        if clock.monotonic_ns() >= deadline:
            return False
        clock.sleep(_POLL_SECONDS)


def _workers(conn: Connection, job: uuid.UUID) -> Sequence[Any]:
    return QUERIES["workers_of_job"].run(conn, job=job, seconds=LIVE_SECONDS).all()


def job_result(handle: JobHandle, settings: Settings, *, calls_complete: bool = True) -> dict[str, Any]:
    """Everything about a job in plain data; bytes are whole, times seconds, GB 10⁹ bytes.

    `calls_complete`: whether `wait_for_frames` was in time. Raises DatabaseFault, UsageError when the job is gone.
    """
    counts = count_job(handle)
    with handle.database.transaction() as conn:
        calls = calls_by_op(conn, handle.id)
        phases = {phase.value: round(seconds, 3) for phase, seconds in phase_elapsed(conn, handle.id).items()}
        workers = _workers(conn, handle.id)
        server = QUERIES["server_version"].run(conn).scalar_one()
        again = requeued_files(conn, handle.id)
        disturbed = disturbances(conn, handle.id)
        span = QUERIES["job_span"].run(conn, job=handle.id).one()
        held = QUERIES["job_held"].run(conn, job=handle.id).one()
    lost = sum(worker.frames_lost for worker in workers)
    return _figures(counts) | {
        "phases": phases,
        "span_s": [span.started, span.finished],
        "held_s": None if held.finished is None else [held.started, held.finished],
        "disturbances": disturbed,
        "calls": {op: call_json(totals) for op, totals in calls.items()},
        "frames_lost": lost,
        "calls_complete": calls_complete and not lost and settings.observe,
        "storage": str(settings.storage),
        "versions": _versions(handle.job.options.index_engine, str(server)),
        "filer": _filer(handle.job.options.filer),
        "passwords": dataclasses.asdict(handle.job.options.passwords),
        "ocr": dataclasses.asdict(handle.job.options.ocr) if handle.job.options.ocr.asked else None,
        "wire": wire_json([handle]),
        "labels": [
            *disturbed,
            *_labels(settings, handle.job.options.filer.label, calls_complete and not lost),
            *box_labels(worker.box for worker in workers),
            *(["the time of phase ocr is in elapsed and GB/hour"] if handle.job.options.ocr.asked else []),
            *([f"{again} loose files were processed again for their exceptions: not comparable"] if again else []),
        ],
    }


def _figures(counts: JobCounts) -> dict[str, Any]:
    job, progress = counts.summary.job, counts.progress
    seconds, raw = progress.elapsed_s, progress.raw_bytes
    discovered = raw + progress.extracted_bytes
    by_code: dict[str, int] = {}
    for row in counts.exceptions:
        by_code[row.code] = by_code.get(row.code, 0) + row.exceptions
    return {
        "job_id": str(job.id),
        "name": job.name,
        "source": display_name(job.source),
        "state": job.state.value,
        "reason": job.reason,
        "workers": counts.summary.workers_planned,
        "slots": counts.summary.slots_planned,
        "index_engine": job.options.index_engine,
        "passes": 1 if job.options.single_pass else 2,
        "fsync": job.options.fsync.value,
        "layout": job.options.layout.value,
        "raw_bytes": raw,
        "discovered_bytes": discovered,
        "index_bytes": progress.index_bytes,
        "items": counts.items,
        **rates_of(raw, discovered, counts.items, seconds),
        "containers": counts.containers,
        "exceptions": by_code,
        "children": {
            "expected": counts.children.expected,
            "emitted": counts.children.emitted,
            "failed": counts.children.failed,
        },
        "violations": [violation.line() for violation in counts.violations],
    }


def rates_of(raw: int, discovered: int, items: int, seconds: float) -> dict[str, Any]:
    """What bytes and items come to over a job's, or a group's, elapsed seconds."""
    return {
        "elapsed_s": round(seconds, 3),
        "expansion": round(discovered / raw, 4) if raw else None,
        "gb_per_hour_raw": round(gb_per_hour(raw, seconds), 3),
        "gb_per_hour_discovered": round(gb_per_hour(discovered, seconds), 3),
        "items_per_second": round(per_second(items, seconds), 3),
        "items_per_gb_raw": round(items / raw * GB) if raw else None,
    }


def call_json(totals: Any) -> dict[str, Any]:
    """Calls of one op in plain data."""
    plain = totals.to_json()
    return {"count": plain.pop("calls")} | {k: round(v, 3) if isinstance(v, float) else v for k, v in plain.items()}


def _versions(engine: str, server: str) -> dict[str, str]:
    out = {"edbench": _installed("edbench"), "python": platform.python_version(), "postgresql": server}
    for package in (engine, "celery", "sqlalchemy"):
        out[package] = _installed(package)
    return out | {"kernel": platform.release()}


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _filer(choice: FilerChoice) -> dict[str, Any] | None:
    """The emulated filer; what its stations did is added by whoever watched them (controller.filer.emulated)."""
    return {"name": choice.name, "scale": choice.scale} if choice.digest else None


def box_labels(lacking: Iterable[str]) -> list[str]:
    """What a job's workers lacked to keep parsers from the rest of the machine (worker.box); nothing where they had
    all of it."""
    return [
        "files were parsed in the slots themselves: EDBENCH_BOX was off"
        if what == "off"
        else f"parsers' boxes lacked something: {what}"
        for what in sorted(set(filter(None, lacking)))
    ]


def _labels(settings: Settings, emulated: str, calls_complete: bool) -> list[str]:
    labels = [emulated] if emulated else []
    labels += [f"{storage_label(settings.storage, read_mounts())}, cache state unknown", "latencies are closed-loop"]
    if not settings.observe:
        labels.append("storage calls were not recorded: EDBENCH_OBSERVE was off")
    elif not calls_complete:
        labels.append("some call records are missing: the calls are a lower bound")
    return labels
