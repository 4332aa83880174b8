"""Term lists, tags and searches that are kept."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import AfterValidator, Field

from controller.custody.actions import Action
from controller.search.named import Search, Tag
from core.document import TEXT, Document

_MOST_TERMS, _MOST_LINES = 1_000, 10_000

Query = Annotated[str, Field(min_length=1, max_length=2_000, pattern=TEXT)]
Line = Annotated[str, Field(max_length=2_000, pattern=TEXT)]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=TEXT)]


def _bounded(lines: list[str]) -> list[str]:
    if sum(map(bool, map(str.strip, lines))) > _MOST_TERMS:
        raise ValueError(f"more than {_MOST_TERMS:,} terms; make several lists of it")
    return lines


class TermsWish(Document):
    """Search terms to be reported on."""

    terms: Annotated[list[Line], AfterValidator(_bounded)] = Field(
        min_length=1,
        max_length=_MOST_LINES,
        description="Each a query, as a line of a list: blank ones are passed over and counted; 1,000 others at most.",
    )
    custodian: Annotated[str, Field(max_length=1_000, pattern=TEXT)] | None = Field(
        None, description="Only this custodian's items."
    )


class TagWish(Document):
    """What is to be tagged."""

    tag: Name
    query: Query | None = Field(None, description="Everything that it finds; either this or `items` is given.")
    items: list[uuid.UUID] | None = Field(None, min_length=1, max_length=1_000, description="These items.")
    families: bool = Field(False, description="With everything in the families of these items.")
    remove: bool = Field(False, description="Take the tag away instead.")


class SearchWish(Document):
    """A search to be kept."""

    name: Name
    query: Query


class Tags(Document):
    """The tags of a job, by name."""

    tags: list[Tag]


class Searches(Document):
    """The searches that are kept, by name."""

    searches: list[Search]


class Actions(Document):
    """Who did what, oldest first."""

    actions: list[Action]
