"""Reviews and verifications that are begun over the API: errands of the server, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from fastapi import APIRouter

from controller.databases import Jobs
from controller.jobs.groups.find import find_discovered
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
    DedupeWish,
    DenistWish,
    Errands,
    HashListChoice,
    HashLists,
    LanguagesWish,
    NearWish,
    ThreadsWish,
    VerifyWish,
)
from web.api.needs import Context, Discovered, Found
from web.context import WebContext
from web.errands import Errand
from web.errors import FieldErrors
from web.hash_lists import chosen_lists, list_hash_lists, places

VERIFY = "verify"
_EXAMPLES = 10


class _How(TypedDict):
    examples: int
    progress: Progress


router = APIRouter(tags=["review"])


@router.post("/jobs/{job}/duplicates", status_code=202, responses=responses(404, 409, 422))
def start_dedupe(context: Context, jobs: Discovered, wish: DedupeWish) -> Errand:
    """Find duplicates and their originals; GET …/errands says when that is done, GET …/duplicates what came of it."""
    together = _together(context, jobs, wish.others)
    return context.start_errand(
        jobs.id, ReviewKind.DEDUPE.value, lambda: dedupe(together, wish.scope, wish.by).to_json()
    )


@router.post("/jobs/{job}/near-duplicates", status_code=202, responses=responses(404, 409, 422))
def start_near(context: Context, jobs: Discovered, wish: NearWish) -> Errand:
    """Find texts that are nearly the same, and of each group its principal."""
    together = _together(context, jobs, wish.others)
    return context.start_errand(
        jobs.id,
        ReviewKind.NEAR.value,
        lambda: near(together, wish.scope, wish.threshold, context.settings).to_json(),
    )


@router.post("/jobs/{job}/languages", status_code=202, responses=responses(404, 409, 422))
def start_languages(context: Context, jobs: Discovered, wish: LanguagesWish) -> Errand:
    """Tell the language of each text, as key `language` of its item's metadata."""
    together = _together(context, jobs, wish.others)
    return context.start_errand(
        jobs.id, ReviewKind.LANGUAGES.value, lambda: languages(together, context.settings).to_json()
    )


@router.post("/jobs/{job}/system-files", status_code=202, responses=responses(404, 409, 422))
def start_denist(context: Context, jobs: Discovered, wish: DenistWish) -> Errand:
    """Flag known software files by lists of their hashes."""
    together, lists = _together(context, jobs, wish.others), chosen_lists(context, wish.lists)
    return context.start_errand(
        jobs.id, ReviewKind.DENIST.value, lambda: denist(together, lists, context.settings).to_json()
    )


@router.post("/jobs/{job}/threads", status_code=202, responses=responses(404, 409, 422))
def start_threads(context: Context, jobs: Discovered, wish: ThreadsWish) -> Errand:
    """Put messages into threads."""
    together = _together(context, jobs, wish.others)
    return context.start_errand(
        jobs.id, ReviewKind.THREADS.value, lambda: thread(together, subjects=wish.subjects).to_json()
    )


@router.post("/jobs/{job}/verify", status_code=202, responses=responses(404, 409, 422))
def start_verify(context: Context, jobs: Found, wish: VerifyWish) -> Errand:
    """Compare the job with its manifest, or what it was told to write with its rows and its load files, as `edbench verify` does; the errand's
    outcome has what is missing, extra and wrong."""
    work = _verification(context, jobs, internal=wish.internal)
    return context.start_errand(jobs.id, VERIFY, work)


@router.get("/jobs/{job}/errands", responses=responses(404))
def errands(context: Context, jobs: Found) -> Errands:
    """What this server was asked to look for in the job, and how far that is; forgotten when the server ends."""
    return Errands(errands=context.errands.of(jobs.id))


@router.get("/hash-lists", responses=responses())
def hash_lists(context: Context) -> HashLists:
    """Lists of known software files that may be chosen: files of `hash-lists` of the storage root and EDBENCH_HASH_LISTS."""
    return HashLists(
        lists=[HashListChoice(id=one.id, name=one.name, bytes=one.bytes) for one in list_hash_lists(context)],
        places=[str(place) for place in places(context)],
    )


def _together(context: WebContext, jobs: Jobs, others: Sequence[str]) -> list[Jobs]:
    """The job and those beside it; raises UsageError and FieldErrors now where they cannot be looked through, and
    while a measurement runs."""
    context.refuse_beside()
    try:
        found = [jobs, *(find_discovered(context.databases, one) for one in others)]
    except UsageError as error:
        raise FieldErrors({"others": str(error)}) from error
    looked_at(found)
    return found


def _verification(context: WebContext, jobs: Jobs, *, internal: bool) -> Any:
    context.refuse_beside()
    settings, filer = context.settings, Storage(NullRecorder())
    how: _How = {"examples": _EXAMPLES, "progress": _quiet}
    if jobs.each and jobs.each[0].job.options.production.asked:
        return lambda: _noted(jobs, verify_production(jobs.each[0], filer, **how))
    chosen = choose_manifest(jobs.source, None, internal=internal)
    if jobs.group is not None:
        return lambda: _noted(jobs, verify_group(jobs, settings, filer, chosen, **how))
    return lambda: _noted(jobs, verify_job(jobs.each[0], settings, filer, chosen, **how))


def _noted(jobs: Jobs, done: Verification | ProductionVerification | GroupVerification) -> dict[str, Any]:
    """What came of it as JSON, once it is in the chain of custody of each of the jobs."""
    note_verified(jobs.each, done)
    return done.to_json()


def _quiet(_line: str) -> None:
    """Whoever waits sees that it runs."""
