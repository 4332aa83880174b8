"""What is told of a job that takes the items of others: what it chose, what it left out and why, what it has written."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from controller.jobs.figures import ProducedFiles, ProductionFigures
from controller.production.held import tag_changes
from sql.faces.production import PRODUCTION

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from controller.databases import JobHandle


def production_figures(conn: Connection, handle: JobHandle) -> ProductionFigures | None:
    """As it stands now; None of a job of another type."""
    choice = handle.job.options.production
    if not choice.asked:
        return None
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


def production_told(handle: JobHandle) -> ProductionFigures | None:
    """The same, asked for by itself. Raises DatabaseFault."""
    if not handle.job.options.production.asked:
        return None
    with handle.database.transaction() as conn:
        return production_figures(conn, handle)


def production_lines(made: ProductionFigures) -> list[tuple[str, str]]:
    """What it chose and did not take, and what it does not know, each with a word for it; nothing of what is none."""
    withheld = f"{made.withheld:,} items: tag {', '.join(made.withhold)}, with families"
    told = (
        ("chosen", made.chosen, f"{made.chosen or 0:,} items, of which {made.items:,} are taken"),
        ("withheld", made.withhold, withheld),
        ("copies", made.copies, f"{made.copies:,} items, left out as duplicates"),
        ("system files", made.system_files, f"{made.system_files:,} items, left out"),
        ("containers", made.containers, f"{made.containers:,}: their content is produced where it was chosen itself"),
    )
    return [(name, line) for name, there, line in told if there] + production_warnings(made)


def production_warnings(made: ProductionFigures) -> list[tuple[str, str]]:
    """Of these what somebody ought to look at before it goes out."""
    told = (
        ("left out", made.left_out, f"{made.left_out:,} copies without pages, whose original is withheld"),
        (
            "tags",
            made.tag_changes,
            f"given or taken {made.tag_changes:,} times since it chose its items, which are those of before",
        ),
        ("equal", made.equal, f"{made.equal:,} items are in it that equal one with such a tag"),
    )
    return [(name, line) for name, there, line in told if there]
