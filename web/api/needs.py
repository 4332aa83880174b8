"""Dependencies of routes: the context and the job of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Request

from controller.browse.counts import JobCounts
from controller.databases import LAST, Jobs
from controller.jobs.documents import phases_of
from controller.jobs.groups import OtherType
from controller.jobs.overview import Overview
from core.errors import UsageError
from web.api.models.common import JobReference
from web.api.models.items import Piece
from web.api.models.jobs import JobCounts as Counts
from web.context import WebContext
from web.errors import NotFound


def counts_of(database: str, counts: JobCounts) -> Counts:
    """The counts of one job."""
    return Counts.from_records(
        counts,
        counts.progress,
        id=counts.summary.job.id,
        database=database,
        phases=phases_of(counts),
        violations=counts.violation_lines,
    )


def pieces(snippet: str, start: str, stop: str) -> list[Piece]:
    """A snippet split at its marks; white space is one blank."""
    out: list[Piece] = []
    for number, part in enumerate(" ".join(snippet.split()).split(start)):
        marked, mark, rest = part.partition(stop)
        if number and mark:
            out.append(Piece(text=marked, match=True))
            part = rest
        if part:
            out.append(Piece(text=part.replace(stop, ""), match=False))
    return out


def cut(text: str, matches: Sequence[tuple[int, int]]) -> list[Piece]:
    """A text split where its matches begin and end."""
    out, done = [], 0
    for first, last in matches:
        out += [Piece(text=text[done:first], match=False), Piece(text=text[first:last], match=True)]
        done = last
    return [piece for piece in (*out, Piece(text=text[done:], match=False)) if piece.text]


def context_of(request: Request) -> WebContext:
    """The context of the application."""
    context: WebContext = request.app.state.context
    return context


def overview_of(request: Request) -> Overview:
    """The job rows of the application."""
    overview: Overview = request.app.state.overview
    return overview


def found_by(context: WebContext, reference: str) -> Jobs:
    """The job or group of a reference. Raises NotFound."""
    try:
        return context.find(reference)
    except UsageError as error:
        raise NotFound(str(error)) from error


def _found(job: JobReference, request: Request) -> Jobs:
    return found_by(context_of(request), job)


def _discovered(job: JobReference, request: Request) -> Jobs:
    try:
        found = context_of(request).find_discovered(job)
    except OtherType:
        raise
    except UsageError as error:
        raise NotFound(str(error)) from error
    request.state.discovery = job  # a page about an error of one of its items links to them
    return found


def _acted_on(job: JobReference, request: Request) -> Jobs:
    if job.strip().lower() == LAST:
        return _discovered(job, request)
    return _found(job, request)


Context = Annotated[WebContext, Depends(context_of)]
Rows = Annotated[Overview, Depends(overview_of)]
Found = Annotated[Jobs, Depends(_found)]
# A discovery, for routes about items, which other jobs do not have. `last` is the newest discovery.
Discovered = Annotated[Jobs, Depends(_discovered)]
# Any job, for operator actions; `last` is the newest discovery, as for `edbench job custody`.
ActedOn = Annotated[Jobs, Depends(_acted_on)]
