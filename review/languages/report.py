"""What was found of a job's languages."""

from __future__ import annotations

from collections.abc import Sequence

from controller.databases import JobHandle
from review.kinds import ReviewKind
from review.languages.run import LanguagesFound
from review.looked_at import latest
from sql.session import Database


def last_languages(handles: Sequence[JobHandle], databases: Sequence[Database]) -> LanguagesFound:
    """The summary of the latest `edbench review languages` of these jobs; see `review.looked_at.latest` for what is raised."""
    return LanguagesFound.model_validate(latest(handles, ReviewKind.LANGUAGES, databases).figures)
