"""Reviews and verifications as background tasks of the server, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from fastapi import APIRouter

from controller.databases import Jobs
from controller.jobs.groups.find import find_discovered
from controller.jobs.source import find_manifest
from controller.verify.group import GroupVerification, verify_group
from controller.verify.job import Progress, Verification, choose_manifest, verify_job
from controller.verify.noted import note_verified
from controller.verify.production import ProductionVerification, verify_production
from core.errors import UsageError
from core.operations import NullRecorder
from core.storage.layer import Storage
from review.dedupe.run import dedupe
from review.denist.run import denist
from review.kinds import ReviewKind
from review.languages.run import languages
from review.looked_at import looked_at
from review.near.run import near
from review.threads.run import thread
from web.api.models.common import responses
from web.api.models.review import (
    BackgroundTaskList,
    DedupeOrder,
    DenistOrder,
    HashListChoice,
    HashLists,
    LanguagesOrder,
    NearOrder,
    ThreadsOrder,
    VerifyOrder,
)
from web.api.needs import Context, Discovered, Found
from web.background import BackgroundTask
from web.context import WebContext
from web.corpora import chosen_lists, list_hash_lists, list_places
from web.errors import FieldErrors

VERIFY = "verify"
_EXAMPLES = 10


class _How(TypedDict):
    examples: int
    progress: Progress


router = APIRouter(tags=["review"])


@router.post("/jobs/{job}/duplicates", status_code=202, responses=responses(404, 409, 422))
def start_dedupe(context: Context, jobs: Discovered, order: DedupeOrder) -> BackgroundTask:
    """Find duplicates and their originals. GET …/background-tasks shows when it is done, GET …/duplicates the findings."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id, ReviewKind.DEDUPE.value, lambda: dedupe(together, order.scope, order.by).to_json()
    )


@router.post("/jobs/{job}/near-duplicates", status_code=202, responses=responses(404, 409, 422))
def start_near(context: Context, jobs: Discovered, order: NearOrder) -> BackgroundTask:
    """Find texts that are nearly equal, and the principal of each group."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id,
        ReviewKind.NEAR.value,
        lambda: near(together, order.scope, order.threshold, context.settings).to_json(),
    )


@router.post("/jobs/{job}/languages", status_code=202, responses=responses(404, 409, 422))
def start_languages(context: Context, jobs: Discovered, order: LanguagesOrder) -> BackgroundTask:
    """Detect the language of each text and store it as `language` in the item's metadata."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id, ReviewKind.LANGUAGES.value, lambda: languages(together, context.settings).to_json()
    )


@router.post("/jobs/{job}/system-files", status_code=202, responses=responses(404, 409, 422))
def start_denist(context: Context, jobs: Discovered, order: DenistOrder) -> BackgroundTask:
    """Flag system files: items whose hash is on a list of known software."""
    together, lists = _together(context, jobs, order.others), chosen_lists(context, order.lists)
    return context.start_background(
        jobs.id, ReviewKind.DENIST.value, lambda: denist(together, lists, context.settings).to_json()
    )


@router.post("/jobs/{job}/threads", status_code=202, responses=responses(404, 409, 422))
def start_threads(context: Context, jobs: Discovered, order: ThreadsOrder) -> BackgroundTask:
    """Group messages into threads."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id, ReviewKind.THREADS.value, lambda: thread(together, subjects=order.subjects).to_json()
    )


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


@router.get("/hash-lists", responses=responses())
def hash_lists(context: Context) -> HashLists:
    """Lists of known software files: files in `hash-lists` of the storage root and in the directories of EDBENCH_HASH_LISTS."""
    return HashLists(
        lists=[HashListChoice(id=one.id, name=one.name, bytes=one.bytes) for one in list_hash_lists(context)],
        places=[str(place) for place in list_places(context)],
    )


def _together(context: WebContext, jobs: Jobs, others: Sequence[str]) -> list[Jobs]:
    """The job and the others to review with it. Raises UsageError, FieldErrors where they cannot be reviewed, and while a
    measurement runs."""
    context.refuse_measuring()
    try:
        found = [jobs, *(find_discovered(context.databases, one) for one in others)]
    except UsageError as error:
        raise FieldErrors({"others": str(error)}) from error
    looked_at(found)
    return found


def _verification(context: WebContext, jobs: Jobs, internal: bool | None) -> Any:
    context.refuse_measuring()
    settings, filer = context.settings, Storage(NullRecorder())
    how: _How = {"examples": _EXAMPLES, "progress": _quiet}
    if jobs.each and jobs.each[0].job.options.production.asked:
        return lambda: _noted(jobs, verify_production(jobs.each[0], filer, **how))
    if internal is None:
        internal = find_manifest(jobs.source) is None
    chosen = choose_manifest(jobs.source, None, internal=internal)
    if jobs.group is not None:
        return lambda: _noted(jobs, verify_group(jobs, settings, filer, chosen, **how))
    return lambda: _noted(jobs, verify_job(jobs.each[0], settings, filer, chosen, **how))


def _noted(jobs: Jobs, done: Verification | ProductionVerification | GroupVerification) -> dict[str, Any]:
    """The outcome as JSON, after it was added to the chain of custody of each job."""
    note_verified(jobs.each, done)
    return done.to_json()


def _quiet(_line: str) -> None:
    """Progress is not reported: the web UI shows that the task runs."""
