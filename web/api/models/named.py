"""Term lists, tags and saved searches."""

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


class TermsOrder(Document):
    """Search terms for a hit report."""

    terms: Annotated[list[Line], AfterValidator(_bounded)] = Field(
        min_length=1,
        max_length=_MOST_LINES,
        description="A query per line. Blank lines keep their number; at most 1,000 others.",
    )
    custodian: Annotated[str, Field(max_length=1_000, pattern=TEXT)] | None = Field(
        None, description="Only this custodian's items."
    )


class TagOrder(Document):
    """Items to tag."""

    tag: Name
    query: Query | None = Field(None, description="All hits of this query; give this or `items`.")
    items: list[uuid.UUID] | None = Field(None, min_length=1, max_length=1_000, description="These items.")
    families: bool = Field(False, description="With all items of their families.")
    remove: bool = Field(False, description="Remove the tag.")


class SearchOrder(Document):
    """A search to save."""

    name: Name
    query: Query


class Tags(Document):
    """The tags of a job, by name."""

    tags: list[Tag]


class Searches(Document):
    """The saved searches, by name."""

    searches: list[Search]


class Actions(Document):
    """Operator actions, oldest first."""

    actions: list[Action]
