"""The form that begins an extraction, a processing or an export of a discovery."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from fastapi import APIRouter, Request, Response

from controller.jobs.overview import JobRow
from controller.production.create import databases_of
from core.job_types import JobType
from web.api import jobs as jobs_api
from web.api import named, system
from web.api.models.models import NewProduction
from web.api.needs import Context, Discovered, Rows
from web.pages.filters import plain
from web.pages.form import Input, inputs
from web.pages.render import page

_OF_ONE = {
    "export": {"dat_encoding", "images"},
    "processing": {"image_format", "dpi"},
    "extraction": set[str](),
}
_SHOWN = 500  # jobs below the form

router = APIRouter()


@router.get("/jobs/{job}/produce")
def produce(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Discovered,
    type: Literal["extraction", "processing", "export"] = "export",
) -> Response:
    """With every option that the command of this type has."""
    choices = system.choices(context)
    others = set().union(*(names for of, names in _OF_ONE.items() if of != type))
    sources = {handle.id for handle in jobs.each}
    listed, _ = rows.rows(context.databases, state=None, limit=_SHOWN, of=sources)
    took = [jobs_api.with_problem(context, row) for row in listed]
    form = inputs(NewProduction, choices, but=others | {"out"})
    return page(
        request,
        "produce.html",
        job=jobs_api.one_job(context, rows, jobs),
        type=type,
        types=list(_OF_ONE),
        creating=choices.creating,
        parts=databases_of(jobs.each),
        form=[_images(each, took, sources) if each.name == "images" else each for each in form],
        roots=[str(context.settings.storage), *map(str, context.productions)],
        tags=named.tags(jobs).tags,
        took=took,
    )


def _images(field: Input, took: Sequence[JobRow], sources: Collection[uuid.UUID]) -> Input:
    """The field that asks for a processing job, as a choice of those whose pages can be taken: of just these jobs, and over."""
    own = [row for row in took if row.type is JobType.PROCESSING and set(row.sources) == set(sources)]
    fit = [row for row in own if row.state.completed]
    options = [(str(row.id), f"{plain(row.name)} ({str(row.id)[:8]})") for row in fit]
    return replace(field, kind="choice", options=[("", "none" if fit else "none yet: Processing"), *options])
