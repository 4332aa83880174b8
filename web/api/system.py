"""GET health, version, corpora and choices; POST sign-in-links."""

from __future__ import annotations

import platform

from fastapi import APIRouter, Request, Response

from controller.jobs.run import crew_of
from core.errors import UsageError
from core.extensions import installed_version
from core.filer.model import profile_names
from core.records import FsyncPolicy, Layout
from core.settings import INDEX_ENGINES
from web.api.models.common import responses
from web.api.models.system import Choices, Corpora, Corpus, Health, SignIn, Version
from web.api.needs import Context
from web.auth import ANONYMOUS, BEARER
from web.context import WebContext
from web.door import CODE_SECONDS
from web.results import list_corpora, roots
from web.token import WEB, published

DEFAULT_WORKERS = 2

router = APIRouter(tags=["server"])


@router.get("/health", responses={503: {"model": Health, "description": "A database does not answer."}})
def health(context: Context, request: Request, response: Response) -> Health:
    """Whether the server and every database work. Needs no token; only with one it names the databases."""
    states = context.health.states()
    works = all(state == "ok" for state in states.values())
    if not works:
        response.status_code = 503
    named = None if request.scope.get(ANONYMOUS) else states
    return Health(status="ok" if works else "degraded", databases=named)


@router.post("/sign-in-links", status_code=201, responses=responses(409))
async def sign_in_link(context: Context, request: Request) -> SignIn:
    """A link that signs in once, for a server in a container whose port is bound to loopback. Requires the token: a session
    cannot prolong itself."""
    reached = published(context.env, WEB)
    if reached is None:
        raise UsageError("this server does not know its address: it prints its own link when it starts")
    if not request.scope.get(BEARER):
        raise UsageError("a session cannot create links; send the token: `Authorization: Bearer TOKEN`")
    reached.refuse_link()
    return SignIn(url=reached.sign_in(context.door.new_code()), seconds=CODE_SECONDS)


@router.get("/version", responses=responses())
def version() -> Version:
    """Versions of edbench, Python and this API."""
    return Version(edbench=installed_version(), python=platform.python_version(), api="v1")


@router.get("/corpora", responses=responses())
def corpora(context: Context) -> Corpora:
    """The corpora in the storage root, and the directories of EDBENCH_CORPORA with their subdirectories."""
    return Corpora(
        corpora=[
            Corpus(id=each.id, name=each.name, path=str(each.path), manifest=each.manifest)
            for each in list_corpora(context)
        ],
        roots=[str(root) for root in roots(context)],
    )


@router.get("/choices", responses=responses())
def choices(context: Context) -> Choices:
    """The choices for a new job, with their defaults."""
    settings = context.settings
    workers, slots = (DEFAULT_WORKERS, settings.slots) if context.embedded else _living(context)
    return Choices(
        embedded=context.embedded,
        databases=[database.name for database in context.databases],
        workers=workers,
        slots=slots,
        room=context.runner.room(),
        creating=context.runner.creating,
        index_engines=list(INDEX_ENGINES),
        index_engine=settings.index_engine,
        filers=filers() if context.embedded else [settings.filer],
        filer=settings.filer,
        fsync=[policy.value for policy in FsyncPolicy],
        layouts=[layout.value for layout in Layout],
    )


def filers() -> list[str]:
    """None, and the emulated filers."""
    return ["none", *(name for name in profile_names() if name != "none")]


def _living(context: WebContext) -> tuple[int, int]:
    try:
        return crew_of(context.databases[0])
    except UsageError:  # workers of another version: creating a job reports it
        return 0, 0
