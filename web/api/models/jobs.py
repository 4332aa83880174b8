"""Jobs: rows, creation, counts."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from pydantic import Field

from controller.jobs.documents import PhaseCounts
from controller.jobs.orders import DiscoveryOrder
from controller.jobs.overview import JobRow
from core.document import TEXT, Document
from core.options import MOST_PASSWORDS
from core.passwords import MOST_BYTES
from core.records import JobState, Phase
from sql.figures import Children, ExceptionCount, ItemCount, TextCount
from web.background import BackgroundTask


class VerifyOrder(Document):
    """Options of a verification, as of `edbench verify`."""

    internal: bool | None = Field(
        None,
        description="True: check the job without its corpus's manifest. By default the manifest is used if there is one.",
    )


class BackgroundTaskList(Document):
    """The latest background task of each kind of a job: dedupe, near, languages, denist, threads, verify."""

    background_tasks: dict[str, BackgroundTask]


Passwords = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MOST_BYTES, pattern=r"^[^\x00\n]*$")]],
    Field(min_length=1, max_length=MOST_PASSWORDS),
]


class JobList(Document):
    """A page of jobs, newest first."""

    jobs: list[JobRow]
    total: int = Field(description="Jobs that pass the filter, on all pages.")


class JobDetails(JobRow):
    """One job or group with its options and the actions that are possible now."""

    options: dict[str, Any]
    allowed: list[str] = Field(
        description="Actions that its state allows: pause, resume, cancel, requeue, verify, delete."
    )


class NewJob(DiscoveryOrder):
    """A discovery job to create. Give exactly one of `corpus` and `source`."""

    corpus: Annotated[str, Field(max_length=4_000, pattern=TEXT)] | None = Field(
        None, description="Id of a corpus of GET /api/v1/corpora."
    )
    source: Annotated[str, Field(max_length=4_000, pattern=TEXT)] | None = Field(
        None,
        description="Absolute path of a directory of custodians' directories, below the storage root or"
        " EDBENCH_CORPORA.",
    )
    workers: int | None = Field(
        None, ge=1, le=512, description="Worker processes to start, default 2; only if the server starts them."
    )
    slots: int | None = Field(
        None, ge=1, le=64, title="Slots per worker", description="Only if the server starts the workers."
    )
    passwords: Passwords | None = Field(None, description="Tried on encrypted items; never shown again.")


class JobId(Document):
    """The job or group that was created."""

    id: uuid.UUID


class Deleted(Document):
    """A deleted job."""

    left: list[str] = Field(
        description="Files that remain in its output directories because the job did not write them; a line per directory."
    )


class StateNow(Document):
    """The state after an action; `pausing` and `cancelling` last until no task runs."""

    id: uuid.UUID
    state: JobState


class Requeue(Document):
    """Options of requeued exceptions."""

    passwords: Passwords | None = Field(None, description="Added to the job's passwords; never shown again.")


class Requeued(StateNow):
    """A job whose exceptions are processed again."""

    loose_files: int = Field(description="Loose files that are processed again, with everything inside them.")


class JobCounts(Document):
    """Counts of one job."""

    id: uuid.UUID
    database: str
    items: int
    containers: int
    loose_files: int
    index_bytes: int
    phases: dict[Phase, PhaseCounts]
    kinds: list[ItemCount]
    media_types: list[ItemCount]
    texts: list[TextCount]
    exceptions: list[ExceptionCount]
    children: Children
    violations: list[str]


class Counts(Document):
    """The counts of a job, or of each job of a group."""

    jobs: list[JobCounts]
    custodians: list[ItemCount] = Field(description="Of all jobs together.")
