"""Measurements: kinds, start, state, output, cancel."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from controller.databases import newest_jobs
from core.document import Document
from core.errors import UsageError
from core.filer.load import profile_names
from core.records import JobState
from experiments.profiles.catalogue import made, profiles, settings_of
from experiments.profiles.profile import Targets as Places
from experiments.profiles.refusal import refuse_filer, refuse_room
from replay.room import check_paths
from web.api.actions import at_field
from web.api.models.common import responses
from web.api.models.measure import MeasurementList, ProfileList, ProfileRow, SettingRow, TraceList
from web.api.needs import Context, Rows
from web.context import WebContext
from web.errors import FieldErrors
from web.measuring.kinds import KINDS, Kind, NewCorpus, Played, Targets, command
from web.measuring.runs import Measurement, Measurements
from web.measuring.traces import trace_of, traces
from web.results import allowed_target, chosen_source

_MOST_JOBS = 10_000  # as in the list of jobs
_MOVING = (JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING)
_LOG: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["measurements"])


def why_not(context: WebContext) -> str:
    """Why this server cannot measure; empty where it can."""
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
    return MeasurementList(measurements=every, kinds=list(KINDS), refused=why_not(context))


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


@router.get("/profiles", responses=responses())
def list_profiles() -> ProfileList:
    """Storage tests with their settings, by default and with `small`."""
    return ProfileList(profiles=[_profile(name) for name in profiles()])


@router.get("/traces", responses=responses())
def list_traces(context: Context, rows: Rows) -> TraceList:
    """Traces of the newest 100 jobs."""
    return TraceList(traces=traces(context, rows))


def _profile(name: str) -> ProfileRow:
    kind = profiles()[name]
    usual, small = (settings_of(kind, [], small=small).model_dump(mode="json") for small in (False, True))
    return ProfileRow(
        name=name,
        report=kind.report,
        does=kind.does,
        writes=kind.writes,
        needs=kind.needs,
        takes_paths=kind.takes_paths,
        settings=[
            SettingRow(name=key, value=_plain(usual[key]), small=_plain(small[key]), about=field.description or "")
            for key, field in kind.settings_type.model_fields.items()
        ],
    )


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def start(context: WebContext, kind: Kind, order: Any) -> Measurement:
    """Start a measurement after all checks. Raises FieldErrors, UsageError."""
    measurements = _measurements(context)
    measurements.refuse()
    filer = getattr(order, "filer", None)
    if filer is not None and filer not in {"none", *profile_names()}:  # a file's path is for the command line only
        raise FieldErrors({"filer": f"{filer[:100]!r} is not one of none, {', '.join(profile_names())}"})
    with at_field("body"):
        kind.check(order)
    arguments = _arguments(context, kind, order)
    with context.activities.alone():  # no job starts until the measurement is known to run
        _refuse_moving(context)
        return measurements.start(kind.name, command(kind, order, arguments))


def _refuse_moving(context: WebContext) -> None:
    context.background_tasks.refuse()
    states = ((summary.job.id, summary.job.state) for _, summary in newest_jobs(context.databases, _MOST_JOBS))
    moving = next((each for each in states if each[1] in _MOVING), None)
    if moving is not None:
        raise UsageError(f"job {moving[0]} is {moving[1]}, which would distort the measurement; pause it first")


def _arguments(context: WebContext, kind: Kind, order: Any) -> list[str]:
    """The arguments of the command besides its options. Raises FieldErrors."""
    if isinstance(order, Targets):
        return order.arguments(_profile_paths(context, order))
    if isinstance(order, NewCorpus):
        return order.arguments(context.settings.storage)
    if isinstance(order, Played):
        return order.arguments(*_played(context, order))
    return [f"--corpus={chosen_source(context, order.corpus, order.source)}"] if kind.of_corpus else []


def _played(context: WebContext, order: Played) -> tuple[Path, list[Path]]:
    """The trace, and the directories that it is replayed in."""
    trace = trace_of(context.settings.storage, order.job)
    if trace is None:
        raise FieldErrors(
            {"job": "this job has no trace; GET /api/v1/traces lists traces, `edbench trace record` writes one"}
        )
    paths = [allowed_target(context, path) for path in order.paths]
    with at_field("paths"):
        check_paths(paths)
    return trace, paths


def _profile_paths(context: WebContext, order: Any) -> list[Path]:
    if order.profile not in profiles():
        raise FieldErrors(
            {"profile": f"storage test {order.profile!r} does not exist; choose one of {', '.join(profiles())}"}
        )
    paths = [allowed_target(context, path) for path in order.paths]
    with at_field("setting"):
        settings_of(profiles()[order.profile], order.setting, small=order.small)
    with at_field("paths"):
        profile = made(order.profile, Places(paths=tuple(paths)), order.setting, small=order.small)
        refuse_room(profile, yes=order.yes)
    with at_field("filer"):
        profile.check()
        refuse_filer(profile, order.filer or context.settings.filer)
    return paths


def _starting(kind: Kind) -> Callable[..., Measurement]:
    def begin(context: Context, order: Document, response: Response) -> Measurement:
        out = start(context, kind, order)
        response.headers["Location"] = f"/api/v1/measurements/{out.id}"
        return out

    begin.__annotations__["order"] = kind.model
    begin.__doc__ = (
        f"{kind.does[0].upper()}{kind.does[1:]}, as `edbench {' '.join(kind.words)}`. One at a time, while no job runs."
    )
    return begin


for _kind in KINDS.values():
    router.add_api_route(
        f"/measurements/{_kind.name}",
        _starting(_kind),
        methods=["POST"],
        name=f"start_{_kind.name.replace('-', '_')}",
        status_code=201,
        response_model=Measurement,
        responses=responses(409, 422),
    )
