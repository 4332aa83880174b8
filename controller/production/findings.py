"""What jobs that produce and findings of duplicates have of each other: custodians of duplicates stand in load files, and
`--originals` leaves duplicates out, so that a production goes by one finding from its beginning to its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from controller.databases import JobHandle
from controller.findings import ReviewKind, check_findings, latest
from core.errors import UsageError
from core.options.production import ProductionChoice
from core.records import Job, JobOptions
from sql.session import Database

if TYPE_CHECKING:
    pass


def with_findings(
    options: JobOptions, sources: Sequence[JobHandle], databases: Sequence[Database], images: Job | None
) -> JobOptions:
    """What a production is told, with the finding of duplicates in each source; where there is none, or one that does not
    hold any more, its items name their own custodian alone. `images`: the job whose items and pages it takes. Raises
    UsageError where it leaves something out by a finding that does not hold, or by another than that job."""
    choice = options.of(ProductionChoice)
    check_findings(sources, databases, duplicates=choice.originals, system=choice.not_nist)
    findings = tuple(_finding(handle, databases) for handle in sources)
    if images is not None and choice.originals:
        theirs = dict(
            zip(images.options.of(ProductionChoice).sources, images.options.of(ProductionChoice).findings, strict=False)
        )
        for handle, finding in zip(sources, findings, strict=True):
            if theirs.get(handle.id.hex, finding) != finding:
                raise UsageError(
                    f"`edbench review dedupe` found other duplicates in job {handle.id} after job {images.id} made pages of its"
                    " originals; run the processing job again, or repeat the earlier `edbench review dedupe` (same jobs, --scope and --by)",
                    field="images",
                )
    return dataclasses.replace(options, of_type=dataclasses.replace(choice, findings=findings))


def _finding(handle: JobHandle, databases: Sequence[Database]) -> str:
    try:
        return latest([handle], ReviewKind.DEDUPE, databases).token.hex
    except UsageError:
        return ""
