"""Measurements: a form for each kind, the list, and one measurement."""

from __future__ import annotations

import uuid
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from web.api import measure as api
from web.api import system
from web.api.models.system import Choices
from web.api.needs import Context, Rows
from web.errors import NotFound
from web.measuring.kinds import kinds
from web.pages.form import inputs
from web.pages.render import page

router = APIRouter()


@router.get("/measure")
def measure(
    request: Request,
    context: Context,
    rows: Rows,
    kind: Annotated[str, Query(max_length=40)] = "scale-up",
) -> Response:
    """The form of one kind, and the list."""
    known = kinds()
    if kind not in known:
        raise NotFound(f"measurement {kind!r} does not exist; the kinds are {', '.join(known)}")
    listed = api.list_measurements(context)
    return page(
        request,
        known[kind].template,
        listed=listed,
        kinds=list(known.values()),
        kind=known[kind],
        form=inputs(known[kind].model, _any(system.choices(context))) if not listed.refused else [],
        corpora=system.corpora(context),
        **known[kind].shown(context, rows, request.query_params),
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
