"""What a review command is told over the API."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.document import Document
from review.kinds import LOWEST, USUAL, By, Scope
from web.errands import Errand

Others = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=64)], ...],
    Field(max_length=100, description="Jobs that are looked through together with this one, behind it."),
]


class DedupeWish(Document):
    """As `edbench review dedupe`."""

    scope: Scope = Field(Scope.JOB, description="Within what items have to be equal.")
    by: By = Field(By.FAMILY, description="What is compared.")
    others: Others = ()


class NearWish(Document):
    """As `edbench review near-dup`."""

    threshold: float = Field(
        USUAL, ge=LOWEST, le=1, description="Shingles that two texts share over those that either has, at least."
    )
    scope: Scope = Field(Scope.JOB, description="Within what texts are held against each other.")
    others: Others = ()


class LanguagesWish(Document):
    """As `edbench review languages`."""

    others: Others = ()


class DenistWish(Document):
    """As `edbench review denist`."""

    lists: list[Annotated[str, Field(max_length=4_000)]] = Field(
        min_length=1, max_length=1_000, description="Ids of GET /api/v1/hash-lists."
    )
    others: Others = ()


class ThreadsWish(Document):
    """As `edbench review threads`."""

    subjects: bool = Field(False, description="Place answers that refer to nothing by their subject.")
    others: Others = ()


class VerifyWish(Document):
    """As `edbench verify`."""

    internal: bool = Field(False, description="Without a manifest: only what the job itself promises.")


class Errands(Document):
    """The latest errand of each kind of a job: dedupe, near, languages, denist, threads, verify."""

    errands: dict[str, Errand]


class HashListChoice(Document):
    """A list of known software files that may be chosen."""

    id: str
    name: str
    bytes: int


class HashLists(Document):
    """Those that there are, and in which directories more would be found."""

    lists: list[HashListChoice]
    places: list[str]
