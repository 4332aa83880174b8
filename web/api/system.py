"""GET health, version, corpora and choices; POST sign-in-links."""

from __future__ import annotations

import platform

from fastapi import APIRouter, Request, Response
from pydantic import Field

from controller.jobs.run import crew_of
from core.document import Document
from core.errors import UsageError
from core.extensions import installed_version
from core.filer.model import profile_names
from core.records import FsyncPolicy, Layout
from core.settings import INDEX_ENGINES
from web.api.models.common import responses
from web.api.needs import Context
from web.auth import ANONYMOUS, BEARER
from web.background import Measurement
from web.context import WebContext
from web.results import Corpus, list_corpora, roots
from web.token import CODE_SECONDS, WEB, published


class Health(Document):
    """Whether the server and its databases work."""

    status: str = Field(description="ok, or degraded while a database does not answer.")
    databases: dict[str, str] | None = Field(description="`ok` or the problem, by database; null without a token.")


class SignIn(Document):
    """Access to a web interface: a link that signs in, or an address with a user and a password."""

    url: str = Field(description="To open in a browser; a sign-in link contains a code after its `#`.")
    seconds: int | None = Field(default=None, description="How long the link is valid; it is valid once.")
    user: str | None = None
    password: str | None = Field(default=None, description="Of that user; without a user, the token.")


class Version(Document):
    """Versions."""

    edbench: str
    python: str
    api: str


class Corpora(Document):
    """The corpora, and the directories that may contain a `source`."""

    corpora: list[Corpus]
    roots: list[str]


class Choices(Document):
    """The choices for a new job on this server."""

    embedded: bool = Field(description="The server starts the workers itself.")
    creating: bool = Field(description="Jobs can be created here.")
    databases: list[str]
    workers: int = Field(description="The default if the server starts them, else the running workers.")
    slots: int
    room: int = Field(description="Slots that can still be started, of all workers together.")
    index_engines: list[str]
    index_engine: str
    filers: list[str] = Field(
        description="The available emulated filers; those of the workers if the server does not start them."
    )
    filer: str
    fsync: list[str]
    layouts: list[str]


class MeasurementList(Document):
    """The measurements of this server."""

    measurements: list[Measurement]
    kinds: list[str] = Field(description="Kinds to start with POST /api/v1/measurements/KIND.")
    refused: str = Field(description="Why this server cannot measure; empty if it can.")


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
    return Corpora(corpora=list_corpora(context), roots=[str(root) for root in roots(context)])


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
    """The choices of filers: none, and the emulated ones."""
    return ["none", *(name for name in profile_names() if name != "none")]


def _living(context: WebContext) -> tuple[int, int]:
    try:
        return crew_of(context.databases[0])
    except UsageError:  # workers of another version: creating a job reports it
        return 0, 0
