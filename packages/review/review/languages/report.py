"""What was found of a job's languages."""

from __future__ import annotations

from collections.abc import Sequence

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from review.languages.run import LanguagesFound
from sql.session import Database


def last_languages(handles: Sequence[JobHandle], databases: Sequence[Database]) -> LanguagesFound:
    """The summary of the latest `edbench review languages` of these jobs; see `controller.findings.latest` for what is raised."""
    return LanguagesFound.model_validate(latest(handles, ReviewKind.LANGUAGES, databases).figures)
