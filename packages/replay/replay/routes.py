"""Replays in the web UI: the traces of jobs, and the form that starts a replay."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from controller.jobs.overview import Overview
from core.document import Document
from core.places import trace_location
from core.settings import numbers
from experiments.kinds import parse_bounds
from replay.orders import ReplayStudyOrder, parse_pace
from replay.plan import MAX_PATHS
from replay.tree import check_paths
from web.api.models.common import responses
from web.api.needs import Context, Rows
from web.context import WebContext
from web.errors import FieldErrors, at_field
from web.measuring import GivenPath, Kind, at, check_sizes, model, target_roots
from web.results import allowed_target

api = APIRouter(tags=["measurements"])
pages = APIRouter()

_MOST = 100


class TraceRow(Document):
    """The trace of one job."""

    job: uuid.UUID = Field(description="Pass it as `job` to start a replay.")
    name: str
    type: str
    bytes: int


def trace_of(storage: Path, job: uuid.UUID) -> Path | None:
    """Return the trace of a job; None if it has none."""
    path = storage / os.fsdecode(trace_location(job))
    return path if _size(path) is not None else None


def traces(context: WebContext, rows: Overview) -> list[TraceRow]:
    """Return the traces of the newest jobs. Raises DatabaseFault."""
    listed, _ = rows.rows(context.databases, state=None, limit=_MOST, offset=0)
    found = ((row, _size(context.settings.storage / os.fsdecode(trace_location(row.id)))) for row in listed)
    return [TraceRow(job=row.id, name=row.name, type=row.type, bytes=size) for row, size in found if size is not None]


def _size(path: Path) -> int | None:
    try:
        about = path.lstat()
    except OSError:
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) else None


class TraceList(Document):
    """The traces that can be replayed."""

    traces: list[TraceRow]


@api.get("/traces", responses=responses())
def list_traces(context: Context, rows: Rows) -> TraceList:
    """Traces of the newest 100 jobs."""
    return TraceList(traces=traces(context, rows))


class Played(Document):
    """The trace to replay, and the directories to replay it in."""

    job: uuid.UUID = Field(description="The job that recorded the trace, of GET /api/v1/traces.")
    paths: Annotated[list[GivenPath], Field(min_length=1, max_length=MAX_PATHS)] = Field(
        description="Absolute paths of empty directories, below the storage root or EDBENCH_TARGETS."
    )
    shared: bool = Field(False, description="clones of the trace read the same files instead of their own")

    def arguments(self, trace: Path, paths: Iterable[Path]) -> list[str]:
        """Return the arguments after the options."""
        return [*(f"--path={path}" for path in paths), "--", str(trace)]


def _replayed(order: Any) -> None:
    at("pace", partial(parse_pace, order.pace))
    if order.clients is not None:
        numbers(order.clients, "--clients", digits=9)
    if order.max_p99 is not None:
        at("max_p99", partial(parse_bounds, order.max_p99))
    check_sizes(order)


def _played(context: WebContext, order: Played) -> list[str]:
    """Return the trace and its target directories as arguments."""
    trace = trace_of(context.settings.storage, order.job)
    if trace is None:
        raise FieldErrors(
            {"job": "this job has no trace; GET /api/v1/traces lists traces, `edbench trace record` writes one"}
        )
    paths = [allowed_target(context, path) for path in order.paths]
    with at_field("paths"):
        check_paths(paths)
    return order.arguments(trace, paths)


kinds = (
    Kind(
        name="replay",
        does="repeat the storage calls of a trace with client processes",
        model=model("Replay", ReplayStudyOrder, Played),
        group="trace",
        check=_replayed,
        arguments=_played,
        template="measure_replay.html",
        shown=lambda context, rows, _query: {"targets": target_roots(context), "traces": traces(context, rows)},
    ),
)
