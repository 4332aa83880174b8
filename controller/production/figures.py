"""What is told of a job that takes the items of others: what it chose, what it left out and why, what it has written."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from controller.jobs.figures import ProducedFiles, ProductionFigures
from controller.production.held import tag_changes
from core.options.production import ProductionChoice
from sql.faces.production import PRODUCTION

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from controller.databases import JobHandle


def production_figures(conn: Connection, handle: JobHandle) -> ProductionFigures:
    """The current figures."""
    choice = handle.job.options.of(ProductionChoice)
    return ProductionFigures(
        out=choice.out,
        sources=[uuid.UUID(source) for source in choice.sources],
        items=choice.items,
        chosen=choice.chosen or None,
        withhold=list(choice.withhold),
        withheld=choice.withheld,
        copies=choice.copies,
        system_files=choice.system_files,
        containers=choice.containers,
        left_out=choice.left_out,
        tag_changes=tag_changes(conn, choice),
        equal=choice.equal,
        files=[ProducedFiles(**row._asdict()) for row in PRODUCTION.production_written(conn, job=handle.id)],
    )
