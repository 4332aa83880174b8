"""A job's figures, made."""

import datetime
import uuid
from typing import Any

from controller.jobs.figures import Calls, ChildTotals, JobFigures, rates
from controller.jobs.overview import JobRow
from core.records import BankNote, FsyncPolicy, GroupKind, JobState, Layout, Phase

EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
CHILDREN = ChildTotals(expected=10, emitted=8, failed=2)
READ = Calls(count=5, bytes=10, errors=0, p50_us=1.0, p99_us=2.0, max_us=3.0)
TRACE = {"path": "/s/t", "bytes": 8_100, "calls": 1_000, "lost": 0, "nodes": 9}

GROUP = {"job_id": uuid.UUID(int=9), "group_id": uuid.UUID(int=9), "kind": GroupKind.SIMULTANEOUS, "source_copies": 1,
         "name": "g", "source": "/x", "calls": {}, "wire": None, "labels": ["all jobs read one source"]}  # fmt: skip


def figures(**changes: Any) -> JobFigures:
    """Of a job."""
    return JobFigures(
        **rates(raw_bytes=45_000_000_000, discovered_bytes=75_000_000_000, items=1_000_000, seconds=17_100.0),
        job_id=uuid.UUID(int=7),
        name="x",
        source="/x",
        state=JobState.COMPLETED_WITH_EXCEPTIONS,
        reason=None,
        workers=15,
        slots=4,
        index_engine="tantivy",
        passes=2,
        fsync=FsyncPolicy.NONE,
        layout=Layout.SHARED,
        raw_bytes=45_000_000_000,
        discovered_bytes=75_000_000_000,
        index_bytes=7,
        index_written_bytes=8,
        items=1_000_000,
        containers=3,
        exceptions={"encrypted": 3},
        children=CHILDREN,
        violations=[],
        phases={Phase.WALK: 1.0, Phase.EXPAND: 11.0},
        span_s=(1.0, 17_101.0),
        held_s=None,
        disturbances=[],
        calls={"read": READ},
        frames_lost=0,
        calls_complete=True,
        storage="/s",
        versions={"edbench": "1"},
        filer=None,
        passwords=BankNote(),
        ocr=None,
        wire=None,
        labels=["local storage (ext4), cache state unknown"],
    ).with_observed(changes)


def job_row(**changes: Any) -> JobRow:
    """Of a job that runs."""
    fields: dict[str, Any] = dict.fromkeys(
        ("items", "exceptions", "raw_bytes", "discovered_bytes", "workers", "slots"), 0
    )
    fields |= dict.fromkeys(("name", "database", "client", "project", "source"), "x")
    fields |= dict.fromkeys(("group", "reason", "finished", "progress"))
    fields |= dict.fromkeys(("elapsed_s", "gb_per_hour_raw", "gb_per_hour_discovered"), 0.0)
    fields |= {
        "id": uuid.UUID(int=7),
        "state": JobState.RUNNING,
        "phase": Phase.WALK,
        "created": EPOCH,
        "labels": [],
        "advice": [],
    }
    return JobRow(**(fields | changes))
