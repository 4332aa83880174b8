"""Background tasks: what a request for one contains."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from web.background import BackgroundTask


class VerifyOrder(Document):
    """As `edbench verify`."""

    internal: bool | None = Field(
        None,
        description="True: check the job without its corpus's manifest. By default the manifest is used where there is one.",
    )


class BackgroundTaskList(Document):
    """The latest background task of each kind of a job: dedupe, near, languages, denist, threads, verify."""

    background_tasks: dict[str, BackgroundTask]
