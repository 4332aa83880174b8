"""Dependencies of routes: the context and the job of a request."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from controller.databases import LAST, Jobs
from controller.jobs.groups.find import OtherType
from controller.jobs.overview import Overview
from core.errors import UsageError
from web.api.models.common import JobReference
from web.context import WebContext
from web.errors import NotFound


def context_of(request: Request) -> WebContext:
    """The context of the application."""
    context = request.app.state.context
    if not isinstance(context, WebContext):
        raise TypeError("applications are made by web.app.create_app")
    return context


def overview_of(request: Request) -> Overview:
    """The job rows of the application."""
    overview = request.app.state.overview
    if not isinstance(overview, Overview):
        raise TypeError("applications are made by web.app.create_app")
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
        return context_of(request).find_discovered(job)
    except OtherType:
        raise
    except UsageError as error:
        raise NotFound(str(error)) from error


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
