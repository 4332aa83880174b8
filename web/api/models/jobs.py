"""Jobs: their rows, how they are created, what they hold."""

from __future__ import annotations

import datetime
import uuid
from typing import Annotated, Any

from pydantic import Field

from core.passwords import MOST_BYTES, MOST_PASSWORDS
from core.records import FsyncPolicy, JobState, Layout, Phase
from web.api.models.common import TEXT, Counted, Model

Name = Annotated[str, Field(max_length=200, pattern=TEXT)]


Passwords = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MOST_BYTES, pattern=r"^[^\x00\n]*$")]],
    Field(min_length=1, max_length=MOST_PASSWORDS),
]


class JobRow(Model):
    """One job, or a group of simultaneous jobs as one. Bytes are whole, times seconds, 1 GB is 10⁹ bytes."""

    id: uuid.UUID
    name: str
    database: str = Field(description="Of a group the names of all, separated by commas.")
    group: uuid.UUID | None = Field(description="The group that the job belongs to.")
    client: str
    project: str
    state: JobState
    phase: Phase
    reason: str | None = Field(
        description="Why it is suspended; of one that runs, what its slots have waited for so long."
    )
    problem: str | None = Field(description="Why this server cannot bring workers to it, if so.")
    source: str
    created: datetime.datetime
    finished: datetime.datetime | None
    elapsed_s: float = Field(description="First claim to the commit of finalise or now, less pauses.")
    items: int
    exceptions: int
    raw_bytes: int
    discovered_bytes: int
    progress: float | None = Field(description="0 to 1, of the known work of the phase; null while that is unknown.")
    gb_per_hour_raw: float
    gb_per_hour_discovered: float
    workers: int = Field(description="As planned.")
    slots: int = Field(description="Of each worker, as planned.")
    labels: list[str] = Field(description="What to know before reading a figure, EMULATED FILER for instance.")
    advice: list[str] = Field([], description="What to do about them, a line each.")
    jobs: list[JobRow] | None = Field(None, description="Of a group its jobs.")


class JobList(Model):
    """A page of jobs, newest first."""

    jobs: list[JobRow]
    total: int = Field(description="Jobs that pass the filter, on all pages.")


class JobDetails(JobRow):
    """One job or group with what it was created with and what may be done with it now."""

    options: dict[str, Any]
    allowed: list[str] = Field(description="Of pause, resume, cancel, requeue and delete those that its state allows.")


class NewJob(Model):
    """What a job is to be. Exactly one of `corpus` and `source` is given."""

    corpus: Annotated[str, Field(max_length=4_000, pattern=TEXT)] | None = Field(
        None, description="Id of a corpus of GET /api/v1/corpora."
    )
    source: Annotated[str, Field(max_length=4_000, pattern=TEXT)] | None = Field(
        None,
        description="Absolute path of a directory of custodians' directories, below the storage root or"
        " EDBENCH_CORPORA.",
    )
    name: Name = Field("", description="Default: the source's.")
    client: Name = ""
    project: Name = ""
    workers: int | None = Field(
        None, ge=1, le=512, description="Worker processes to start, 2 by default; only where the server starts them."
    )
    slots: int | None = Field(
        None, ge=1, le=64, description="Slots of each worker; only where the server starts the workers."
    )
    databases: int = Field(1, ge=1, le=64, description="Simultaneous jobs, one a database.")
    shard: bool = Field(False, description="Spread the custodians over the databases.")
    source_copies: int = Field(1, ge=1, le=64, description="1, or a copy of the source for each database.")
    single_pass: bool = Field(False, description="Take text while unpacking.")
    passwords: Passwords | None = Field(None, description="Tried on encrypted items; shown nowhere afterwards.")
    ocr: bool = Field(False, description="Read pictures and scans too, by tesseract, in a phase of its own.")
    ocr_languages: Annotated[str, Field(min_length=1, max_length=200, pattern=TEXT)] | None = Field(
        None, description="What OCR is to read, in tesseract's names, as eng+deu; default: eng. Only with `ocr`."
    )
    fsync: FsyncPolicy = FsyncPolicy.NONE
    layout: Layout = Layout.SHARED
    index_engine: str | None = Field(None, max_length=20, description="tantivy or whoosh; default: the server's.")
    filer: str | None = Field(
        None,
        max_length=50,
        description="An emulated filer's profile, or none; default and, where it does not start the workers, the"
        " only one: the server's.",
    )


class JobId(Model):
    """The job or group that was created."""

    id: uuid.UUID


class StateNow(Model):
    """Where an action has brought a job; `pausing` and `cancelling` last until nothing runs."""

    id: uuid.UUID
    state: JobState


class Requeue(Model):
    """What the exceptions are gone over again with."""

    passwords: Passwords | None = Field(None, description="Added to the job's; shown nowhere afterwards.")


class Requeued(StateNow):
    """A job that goes over its exceptions again."""

    loose_files: int = Field(description="Loose files that are processed again, with everything inside them.")


class PhaseCounts(Model):
    """One phase of a job."""

    tasks_done: int
    tasks_open: int
    items: int
    seconds: float


class ExceptionCount(Model):
    """Exceptions of one code at one level."""

    code: str
    level: str
    exceptions: int
    missing: int = Field(description="Children lost by them, where known.")


class TextCount(Model):
    """Items of one text state."""

    name: str
    items: int
    characters: int
    pages: int


class Children(Model):
    """Children over all containers; expected must be emitted and failed together."""

    expected: int
    emitted: int
    failed: int
    remainder_unknown: int


class JobCounts(Model):
    """What one job holds, counted."""

    id: uuid.UUID
    database: str
    items: int
    containers: int
    loose_files: int
    index_bytes: int
    phases: dict[Phase, PhaseCounts]
    kinds: list[Counted]
    media_types: list[Counted]
    texts: list[TextCount]
    exceptions: list[ExceptionCount]
    children: Children
    violations: list[str]


class Counts(Model):
    """The counts of a job, or of each job of a group."""

    jobs: list[JobCounts]
    custodians: list[Counted] = Field(description="Of all jobs together.")
