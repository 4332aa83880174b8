"""The server itself and what may be chosen."""

from __future__ import annotations

from pydantic import Field

from core.document import Document


class Health(Document):
    """Whether the databases answer."""

    status: str = Field(description="ok, or degraded while a database does not answer.")
    databases: dict[str, str] = Field(description="ok or what is wrong, by database.")


class Version(Document):
    """Which edbench this is."""

    edbench: str
    python: str
    api: str


class Corpus(Document):
    """A directory that a job may be created over."""

    id: str = Field(description="Give it as `corpus` when creating a job.")
    name: str
    path: str
    manifest: bool = Field(description="It is a generated corpus with ground truth.")


class Corpora(Document):
    """What may be chosen, and below which directories a `source` may lie."""

    corpora: list[Corpus]
    roots: list[str]


class Choices(Document):
    """What a new job may be created with here."""

    embedded: bool = Field(description="The server starts the workers itself.")
    creating: bool = Field(description="Jobs can be created here.")
    databases: list[str]
    workers: int = Field(description="Default where the server starts them, else workers that live now.")
    slots: int
    room: int = Field(description="Slots, over all workers, that can be started beside what runs.")
    index_engines: list[str]
    index_engine: str
    filers: list[str] = Field(description="Where the server does not start the workers, what those emulate.")
    filer: str
    fsync: list[str]
    layouts: list[str]
