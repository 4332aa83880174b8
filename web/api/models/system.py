"""The server and the choices that it offers."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from web.measuring import Measurement


class Health(Document):
    """Whether the server and its databases work."""

    status: str = Field(description="ok, or degraded while a database does not answer.")
    databases: dict[str, str] | None = Field(description="`ok` or the problem, by database; null without a token.")


class SignIn(Document):
    """What opens a web interface: a link that signs in, or an address with a user and a password."""

    url: str = Field(description="To open in a browser; a link that signs in contains a code after its `#`.")
    seconds: int | None = Field(default=None, description="How long the link is valid; it is valid once.")
    user: str | None = None
    password: str | None = Field(default=None, description="Of that user; without a user, the token.")


class Version(Document):
    """Versions."""

    edbench: str
    python: str
    api: str


class Corpus(Document):
    """A directory that a job can process."""

    id: str = Field(description="Give it as `corpus` when creating a job.")
    name: str
    path: str
    manifest: bool = Field(description="Whether it is a generated corpus with a manifest.")


class Corpora(Document):
    """The corpora, and the directories that may contain a `source`."""

    corpora: list[Corpus]
    roots: list[str]


class Choices(Document):
    """The choices for a new job on this server."""

    embedded: bool = Field(description="The server starts the workers itself.")
    creating: bool = Field(description="Jobs can be created here.")
    databases: list[str]
    workers: int = Field(description="The default where the server starts them, else the running workers.")
    slots: int
    room: int = Field(description="Slots of all workers together that can still be started.")
    index_engines: list[str]
    index_engine: str
    filers: list[str] = Field(
        description="The available emulated filers; those of the workers where the server does not start them."
    )
    filer: str
    fsync: list[str]
    layouts: list[str]


class MeasurementList(Document):
    """The measurements of this server."""

    measurements: list[Measurement]
    kinds: list[str] = Field(description="Kinds to start with POST /api/v1/measurements/KIND.")
    refused: str = Field(description="Why this server cannot measure; empty where it can.")
