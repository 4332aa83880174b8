"""Traces of jobs, each in the directory of its job and identified by the job."""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path

from pydantic import Field

from controller.jobs.overview import Overview
from core.document import Document
from core.places import trace_location
from web.context import WebContext

_MOST = 100


class TraceRow(Document):
    """The trace of one job."""

    job: uuid.UUID = Field(description="Give it as `job` when starting a replay.")
    name: str
    type: str
    bytes: int


def trace_of(storage: Path, job: uuid.UUID) -> Path | None:
    """None where this job has no trace."""
    path = storage / os.fsdecode(trace_location(job))
    return path if _size(path) is not None else None


def traces(context: WebContext, rows: Overview) -> list[TraceRow]:
    """Of the newest jobs. Raises DatabaseFault."""
    listed, _ = rows.rows(context.databases, state=None, limit=_MOST, offset=0)
    found = ((row, _size(context.settings.storage / os.fsdecode(trace_location(row.id)))) for row in listed)
    return [TraceRow(job=row.id, name=row.name, type=row.type, bytes=size) for row, size in found if size is not None]


def _size(path: Path) -> int | None:
    try:
        about = path.lstat()
    except OSError:
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) else None
