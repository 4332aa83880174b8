"""Background tasks of the server, one at a time; one of them is verification."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from controller.verify.group import note_verified, verification
from web.api.models.common import responses
from web.api.models.jobs import BackgroundTaskList, VerifyOrder
from web.api.needs import Context, Found
from web.background import BackgroundTask

VERIFY = "verify"
_EXAMPLES = 10


router = APIRouter(tags=["review"])


@router.post("/jobs/{job}/verify", status_code=202, responses=responses(404, 409, 422))
def start_verify(context: Context, jobs: Found, order: VerifyOrder) -> BackgroundTask:
    """Verify the job as `edbench verify` does: compare it with the corpus's manifest, or compare the files of a production with
    its rows and load files. The outcome lists what is missing, extra and wrong."""
    context.refuse_measuring()
    work = verification(jobs, context.settings, None, internal=order.internal, examples=_EXAMPLES)

    def noted() -> dict[str, Any]:
        """Add the outcome to the chain of custody of each job and return it as JSON."""
        note_verified(jobs.each, done := work())
        return dict(done.to_json())

    return context.start_background(jobs.id, VERIFY, noted)


@router.get("/jobs/{job}/background-tasks", responses=responses(404))
def background_tasks(context: Context, jobs: Found) -> BackgroundTaskList:
    """Background tasks of this job. The server forgets them when it stops."""
    return BackgroundTaskList(background_tasks=context.background_tasks.of(jobs.id))
