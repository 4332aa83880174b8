"""The timeline of a job, as one answer and as live events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from controller.databases import Jobs
from controller.jobs.overview import Overview
from controller.timeline.read import read_timeline
from web.api.jobs import with_problem
from web.api.models.common import responses
from web.api.needs import Context, Found, Rows
from web.context import WebContext
from web.stream import Look, Looker, Streams

POINTS = 600

Since = Annotated[float | None, Query(ge=0, le=1e9, description="Seconds since the first claim.")]

router = APIRouter(tags=["timeline"])


@router.get("/jobs/{job}/timeline", responses=responses(404, 422))
def timeline(
    rows: Rows,
    jobs: Found,
    since: Since = None,
    points: Annotated[int, Query(ge=10, le=5_000, description="Largest number of points on the axis.")] = POINTS,
) -> dict[str, Any]:
    """Rates, latencies, depths and counters over time on one axis, downsampled to `points`, with phases, pauses, calls by
    operation, progress and the bottleneck."""
    return read_timeline(jobs.each, since=since, points=points, labels=rows.row_of(jobs).labels).to_json()


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses=responses(404) | {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(request: Request, context: Context, rows: Rows, jobs: Found, since: Since = None) -> StreamingResponse:
    """Server-sent events: `timeline` (first the whole, or what ends after `since`, then increments of the same form,
    each beginning some seconds before the last: its points replace those at and after its first), `job` (the job's
    row), `problem` while the database does not answer, and `end` when the job is over."""
    streams: Streams = request.app.state.streams
    texts: AsyncIterator[str] = streams.events(looker(context, rows, jobs), since)
    return StreamingResponse(texts, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def looker(context: WebContext, rows: Overview, jobs: Jobs) -> Looker:
    """Return a function that reads this job or group."""

    def look(since: float | None) -> Look:
        row = with_problem(context, rows.row_of(jobs))
        seen = read_timeline(jobs.each, since=since, points=POINTS, labels=row.labels)
        return Look(row, seen.to_json())

    return look
