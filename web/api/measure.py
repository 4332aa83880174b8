"""Measurements: kinds, start, state, output, cancel."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from controller.databases import newest_jobs
from core.document import Document
from core.errors import UsageError
from core.filer.model import profile_names
from core.records import JobState
from web.api.models.common import responses
from web.api.needs import Context
from web.api.system import MeasurementList
from web.background import Measurement, Measurements
from web.context import WebContext
from web.errors import FieldErrors, at_field
from web.measuring import Kind, command, kinds

_MOST_JOBS = 10_000  # as in the list of jobs
_MOVING = (JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING)
_LOG: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["measurements"])


def why_not(context: WebContext) -> str:
    """The reason why this server cannot measure; empty if it can."""
    if not context.runner.creating:
        return "this web UI belongs to a running command and ends with it; use `edbench serve` to start measurements"
    if context.measurements is None:
        return "this server starts no measurements; use the command line"
    return ""


def _measurements(context: WebContext) -> Measurements:
    why = why_not(context)
    if why or context.measurements is None:
        raise UsageError(why)
    return context.measurements


@router.get("/measurements", responses=responses())
def list_measurements(context: Context) -> MeasurementList:
    """The measurements of this server, newest first. It forgets them when it stops; results stay."""
    every = context.measurements.every() if context.measurements else []
    return MeasurementList(measurements=every, kinds=list(kinds()), refused=why_not(context))


@router.get("/measurements/{measurement}", responses=responses(404, 409, 422))
def one_measurement(context: Context, measurement: uuid.UUID) -> Measurement:
    """One measurement."""
    return _measurements(context).of(measurement)


@router.get("/measurements/{measurement}/log", responses=responses(404, 409, 422) | _LOG)
def measurement_log(context: Context, measurement: uuid.UUID) -> PlainTextResponse:
    """The end of its output, at most 64 KiB."""
    return PlainTextResponse(_measurements(context).log(measurement))


@router.post("/measurements/{measurement}/cancel", responses=responses(404, 409, 422))
def cancel_measurement(context: Context, measurement: uuid.UUID) -> Measurement:
    """Cancel it as Ctrl-C does; its files are removed. A second request kills it."""
    return _measurements(context).cancel(measurement)


def start(context: WebContext, kind: Kind, order: Any) -> Measurement:
    """Start a measurement after all checks. Raises FieldErrors, UsageError."""
    measurements = _measurements(context)
    measurements.refuse()
    filer = getattr(order, "filer", None)
    if filer is not None and filer not in {"none", *profile_names()}:  # a file's path is for the command line only
        raise FieldErrors({"filer": f"{filer[:100]!r} is not one of none, {', '.join(profile_names())}"})
    with at_field("body"):
        kind.check(order)
    arguments = kind.arguments(context, order)
    with context.activities.alone():  # no job starts until the measurement is known to run
        _refuse_moving(context)
        return measurements.start(kind.name, command(kind, order, arguments))


def _refuse_moving(context: WebContext) -> None:
    context.background_tasks.refuse()
    states = ((summary.job.id, summary.job.state) for _, summary in newest_jobs(context.databases, _MOST_JOBS))
    moving = next((each for each in states if each[1] in _MOVING), None)
    if moving is not None:
        raise UsageError(f"job {moving[0]} is {moving[1]}, which would distort the measurement; pause the job first")


def _starting(kind: Kind) -> Callable[..., Measurement]:
    def begin(context: Context, order: Document, response: Response) -> Measurement:
        out = start(context, kind, order)
        response.headers["Location"] = f"/api/v1/measurements/{out.id}"
        return out

    begin.__annotations__["order"] = kind.model
    begin.__doc__ = (
        f"{kind.does[0].upper()}{kind.does[1:]}, as `edbench {' '.join(kind.words)}`. Only one at a time, while no "
        "job runs."
    )
    return begin


def starts() -> APIRouter:
    """Make a route for each kind. The kinds of packages are known when the application is made, not when this module is
    imported."""
    out = APIRouter(tags=["measurements"])
    for kind in kinds().values():
        out.add_api_route(
            f"/measurements/{kind.name}",
            _starting(kind),
            methods=["POST"],
            name=f"start_{kind.name.replace('-', '_')}",
            status_code=201,
            response_model=Measurement,
            responses=responses(409, 422),
        )
    return out
