"""Background tasks of the server, one at a time; of these, verification."""

from __future__ import annotations

from typing import Any, TypedDict

from fastapi import APIRouter

from controller.databases import Jobs
from controller.jobs.source import find_manifest
from controller.verify.group import GroupVerification, note_verified, verify_group
from controller.verify.job import Progress, choose_manifest, verify_job
from core.document import Document
from core.job_types import types_of
from core.operations import NullRecorder
from core.storage.layer import Storage
from web.api.models.common import responses
from web.api.models.jobs import BackgroundTaskList, VerifyOrder
from web.api.needs import Context, Found
from web.background import BackgroundTask
from web.context import WebContext

VERIFY = "verify"
_EXAMPLES = 10


class _How(TypedDict):
    examples: int
    progress: Progress


router = APIRouter(tags=["review"])


@router.post("/jobs/{job}/verify", status_code=202, responses=responses(404, 409, 422))
def start_verify(context: Context, jobs: Found, order: VerifyOrder) -> BackgroundTask:
    """Verify the job as `edbench verify` does: compare it with the corpus's manifest, or compare the files of a production with
    its rows and load files. The outcome lists what is missing, extra and wrong."""
    work = _verification(context, jobs, order.internal)
    return context.start_background(jobs.id, VERIFY, work)


@router.get("/jobs/{job}/background-tasks", responses=responses(404))
def background_tasks(context: Context, jobs: Found) -> BackgroundTaskList:
    """Background tasks of this job. The server forgets them when it stops."""
    return BackgroundTaskList(background_tasks=context.background_tasks.of(jobs.id))


def _verification(context: WebContext, jobs: Jobs, internal: bool | None) -> Any:
    context.refuse_measuring()
    settings, filer = context.settings, Storage(NullRecorder())
    how: _How = {"examples": _EXAMPLES, "progress": _quiet}
    if jobs.each and jobs.each[0].job.options.type.produces:
        types = types_of(jobs.each[0].job.options.of_type)
        return lambda: _noted(jobs, types.verify(jobs.each[0], filer, **how))
    if internal is None:
        internal = find_manifest(jobs.source) is None
    chosen = choose_manifest(jobs.source, None, internal=internal)
    if jobs.group is not None:
        return lambda: _noted(jobs, verify_group(jobs, settings, filer, chosen, **how))
    return lambda: _noted(jobs, verify_job(jobs.each[0], settings, filer, chosen, **how))


def _noted(jobs: Jobs, done: Document | GroupVerification) -> dict[str, Any]:
    """The outcome as JSON, after it was added to the chain of custody of each job."""
    note_verified(jobs.each, done)
    return done.to_json()


def _quiet(_line: str) -> None:
    """Progress is not reported: the web UI shows that the task runs."""
