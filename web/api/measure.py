"""Experiments and storage profiles: what can be measured here, starting one, how far it is, ending it."""

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
from core.filer.load import profile_names, site_names
from core.records import JobState
from experiments.profiles.catalogue import made, profiles, settings_of
from experiments.profiles.profile import Targets as Places
from experiments.profiles.refusal import refuse_filer, refuse_room
from replay.room import check_paths
from web.api.create import at_field
from web.api.models.common import responses
from web.api.models.measure import MeasurementList, ProfileList, ProfileRow, SettingRow, TraceList
from web.api.needs import Context, Rows
from web.context import WebContext
from web.corpora import allowed_target, chosen_source
from web.errors import FieldErrors
from web.measuring.kinds import KINDS, Asked, Kind, NewCorpus, Played, Targets, command
from web.measuring.runs import Measurement, Measurements
from web.measuring.traces import trace_of, traces
from web.results import runs

_MOST_JOBS = 10_000  # as many as the list of jobs tells of
_MOVING = (JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING)
_LOG: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["measurements"])


def why_not(context: WebContext) -> str:
    """Why nothing can be measured here; empty where something can."""
    if not context.runner.creating:
        return "this page belongs to a command and ends with it; `edbench serve` starts measurements"
    if context.measurements is None:
        return (
            "the workers are run by others here; a measurement starts its own, from fresh databases: serve without"
            " --cluster compose, or type `edbench bench … --cluster compose` on the host of the containers"
        )
    return ""


def _measurements(context: WebContext) -> Measurements:
    why = why_not(context)
    if why or context.measurements is None:
        raise UsageError(why)
    return context.measurements


@router.get("/measurements", responses=responses())
def list_measurements(context: Context) -> MeasurementList:
    """What this server has started, newest first; it forgets it when it ends, results stay."""
    every = context.measurements.every() if context.measurements else []
    return MeasurementList(measurements=every, kinds=list(KINDS), refused=why_not(context))


@router.get("/measurements/{measurement}", responses=responses(404, 409, 422))
def one_measurement(context: Context, measurement: uuid.UUID) -> Measurement:
    """One of them."""
    return _measurements(context).of(measurement)


@router.get("/measurements/{measurement}/log", responses=responses(404, 409, 422) | _LOG)
def measurement_log(context: Context, measurement: uuid.UUID) -> PlainTextResponse:
    """The end of what it said, 64 KiB at most."""
    return PlainTextResponse(_measurements(context).log(measurement))


@router.post("/measurements/{measurement}/cancel", responses=responses(404, 409, 422))
def cancel_measurement(context: Context, measurement: uuid.UUID) -> Measurement:
    """End it as Ctrl-C does, and what it wrote is removed; asked a second time it is killed."""
    return _measurements(context).cancel(measurement)


@router.get("/profiles", responses=responses())
def list_profiles() -> ProfileList:
    """Storage profiles, with their settings as they are and as they are with `small`."""
    return ProfileList(profiles=[_profile(name) for name in profiles()])


@router.get("/traces", responses=responses())
def list_traces(context: Context, rows: Rows) -> TraceList:
    """Traces of the newest 100 jobs, which can be replayed from here."""
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


def start(context: WebContext, kind: Kind, wish: Any) -> Measurement:
    """Begin it once everything that can be refused here has been looked at. Raises FieldErrors, UsageError."""
    measurements = _measurements(context)
    measurements.refuse()
    filer = getattr(wish, "filer", None)
    if filer is not None and filer not in {"none", *profile_names()}:  # a file's path is for the command line only
        raise FieldErrors({"filer": f"it can be none, {', '.join(profile_names())}"})
    with at_field("body"):
        kind.check(wish)
    said = _said(context, kind, wish)
    if not kind.alone:
        return measurements.start(kind.name, command(kind, wish, said))
    with context.doings.alone():  # what is looked at here stays as it is until the measurement is known to run
        _refuse_moving(context)
        return measurements.start(kind.name, command(kind, wish, said))


def _refuse_moving(context: WebContext) -> None:
    context.errands.refuse()
    states = ((summary.job.id, summary.job.state) for _, summary in newest_jobs(context.databases, _MOST_JOBS))
    moving = next((each for each in states if each[1] in _MOVING), None)
    if moving is not None:
        raise UsageError(f"job {moving[0]} is {moving[1]}: what runs beside a measurement is in its figures; pause it")


def _said(context: WebContext, kind: Kind, wish: Any) -> list[str]:
    """What the command is told in its own way: where. Raises FieldErrors."""
    if isinstance(wish, Targets):
        return wish.said(_profile_paths(context, wish))
    if isinstance(wish, NewCorpus):
        return wish.said(context.settings.storage)
    if isinstance(wish, Played):
        return wish.said(*_played(context, wish))
    if isinstance(wish, Asked):
        return _asked(context, wish)
    return [f"--corpus={chosen_source(context, wish.corpus, wish.source)}"] if kind.of_corpus else []


def _played(context: WebContext, wish: Played) -> tuple[Path, list[Path]]:
    """The trace, and the directories that it is replayed in."""
    trace = trace_of(context.settings.storage, wish.job)
    if trace is None:
        raise FieldErrors(
            {
                "job": "this job has no trace here: choose one of GET /api/v1/traces, or have `edbench trace record` make it"
            }
        )
    paths = [allowed_target(context, path) for path in wish.paths]
    with at_field("paths"):
        check_paths(paths)
    return trace, paths


def _asked(context: WebContext, wish: Asked) -> list[str]:
    if wish.site is not None and wish.site not in site_names():
        raise FieldErrors({"site": f"it can be {', '.join(site_names())}"})
    if wish.result is None:
        return []
    directory = runs(context.results_root).get(wish.result)
    if directory is None:
        raise FieldErrors({"result": "there is no such result; GET /api/v1/results lists them"})
    return [f"--from={directory}"]


def _profile_paths(context: WebContext, wish: Any) -> list[Path]:
    if wish.profile not in profiles():
        raise FieldErrors({"profile": f"it can be {', '.join(profiles())}"})
    paths = [allowed_target(context, path) for path in wish.paths]
    with at_field("setting"):
        settings_of(profiles()[wish.profile], wish.setting, small=wish.small)
    with at_field("paths"):
        profile = made(wish.profile, Places(paths=tuple(paths)), wish.setting, small=wish.small)
        refuse_room(profile, yes=wish.yes)
    with at_field("filer"):
        profile.check()
        refuse_filer(profile, wish.filer or context.settings.filer)
    return paths


def _starting(kind: Kind) -> Callable[..., Measurement]:
    def begin(context: Context, wish: Document, response: Response) -> Measurement:
        out = start(context, kind, wish)
        response.headers["Location"] = f"/api/v1/measurements/{out.id}"
        return out

    begin.__annotations__["wish"] = kind.model
    begin.__doc__ = f"Measure {kind.does}, as `edbench {' '.join(kind.words)}`. One at a time, and beside no job."
    if not kind.alone:
        begin.__doc__ = f"Tell {kind.does}, as `edbench {' '.join(kind.words)}`. One at a time."
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
