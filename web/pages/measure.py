"""Measurements: a form for each kind, the list, and one measurement."""

from __future__ import annotations

import uuid
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dataset_gen.profile import profile_names
from web.api import measure as api
from web.api import system
from web.api.models.system import Choices
from web.api.needs import Context, Rows
from web.errors import NotFound
from web.measuring.kinds import KINDS
from web.pages.form import inputs
from web.pages.render import page

router = APIRouter()


@router.get("/measure")
def measure(
    request: Request,
    context: Context,
    rows: Rows,
    kind: Annotated[str, Query(max_length=40)] = "scale-up",
    profile: Annotated[str, Query(max_length=100)] = "stream",
) -> Response:
    """The form of one kind, and the list."""
    if kind not in KINDS:
        raise NotFound(f"measurement {kind!r} does not exist; the kinds are {', '.join(KINDS)}")
    listed = api.list_measurements(context)
    known = {one.name: one for one in api.list_profiles().profiles}
    if profile not in known:
        raise NotFound(f"storage test {profile!r} does not exist; the tests are {', '.join(known)}")
    return page(
        request,
        "measure.html",
        listed=listed,
        kinds=list(KINDS.values()),
        kind=KINDS[kind],
        form=inputs(KINDS[kind].model, _any(system.choices(context))) if not listed.refused else [],
        corpora=system.corpora(context),
        profiles=list(known.values()),
        corpus_profiles=profile_names(),
        profile=known[profile],
        targets=[str(context.settings.storage), *map(str, context.targets)],
        traces=api.list_traces(context, rows).traces if kind == "replay" else [],
    )


def _any(choices: Choices) -> Choices:
    """The choices with any number of workers and any emulated filer: an experiment sets both, a server in a container neither."""
    return choices.model_copy(update={"embedded": True, "filers": system.filers()})


@router.get("/measurements/{measurement}")
def one(request: Request, context: Context, measurement: uuid.UUID) -> Response:
    """One measurement with the end of its output."""
    found = api.one_measurement(context, measurement)
    return page(
        request,
        "measurement.html",
        measurement=found,
        log=context.measurements.log(measurement),  # type: ignore[union-attr]
    )
