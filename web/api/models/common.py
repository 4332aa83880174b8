"""Models and answers that several routes share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from core.document import TEXT, Document

JobReference = Annotated[
    str, Path(max_length=64, description="Id of a job or group, an unambiguous beginning of one, or `last`.")
]
Filter = Annotated[str | None, Query(max_length=1_000, pattern=TEXT)]


class Problem(Document):
    """An error."""

    error: str = Field(description="One line for people.")


class FieldProblem(Problem):
    """An error with a message for each invalid field."""

    errors: dict[str, str] = Field(description="A message for each field that is wrong, by its name.")


class CountByName(Document):
    """A count by name."""

    name: str
    items: int


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route documents, by status; every route may also answer 401, 403 and 503."""
    texts = {
        401: "The token is missing or wrong.",
        403: "The request comes from another site.",
        404: "It does not exist.",
        409: "Not possible in the present state.",
        422: "Invalid fields.",
        503: "A database or the filer does not work.",
    }
    out: dict[int | str, dict[str, Any]] = {}
    for status in (401, 403, *statuses, 503):
        model = FieldProblem if status == 422 else Problem
        out[status] = {"model": model, "description": texts[status]}
    return out
