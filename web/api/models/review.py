"""Review: what a request for it contains."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.document import Document
from review.kinds import LOWEST, USUAL, By, Scope
from web.background import BackgroundTask

Others = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=64)], ...],
    Field(max_length=100, description="Jobs that are reviewed together with this one."),
]


class DedupeOrder(Document):
    """As `edbench review dedupe`."""

    scope: Scope = Field(Scope.JOB, description="The scope in which items are compared.")
    by: By = Field(By.FAMILY, description="Whether items or families are compared.")
    others: Others = ()


class NearOrder(Document):
    """As `edbench review near-dup`."""

    threshold: float = Field(
        USUAL, ge=LOWEST, le=1, description="Shingles that two texts share over those that either has, at least."
    )
    scope: Scope = Field(Scope.JOB, description="The scope in which texts are compared.")
    others: Others = ()


class LanguagesOrder(Document):
    """As `edbench review languages`."""

    others: Others = ()


class DenistOrder(Document):
    """As `edbench review denist`."""

    lists: list[Annotated[str, Field(max_length=4_000)]] = Field(
        min_length=1, max_length=1_000, description="Ids of GET /api/v1/hash-lists."
    )
    others: Others = ()


class ThreadsOrder(Document):
    """As `edbench review threads`."""

    subjects: bool = Field(
        False, description="Use the subject to place replies that have no reference to another message."
    )
    others: Others = ()


class VerifyOrder(Document):
    """As `edbench verify`."""

    internal: bool | None = Field(
        None,
        description="True: check the job without its corpus's manifest. By default the manifest is used where there is one.",
    )


class BackgroundTaskList(Document):
    """The latest background task of each kind of a job: dedupe, near, languages, denist, threads, verify."""

    background_tasks: dict[str, BackgroundTask]


class HashListChoice(Document):
    """A list of known software files."""

    id: str
    name: str
    bytes: int


class HashLists(Document):
    """The available lists, and the directories that are searched for them."""

    lists: list[HashListChoice]
    places: list[str]
