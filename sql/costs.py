"""What loose files have cost so far in a phase of a job: slots that died in them, and seconds (design §3.8)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.records import Phase
from readers.errors import ExceptionCode
from sql.face import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A slot that died while it worked on a loose file; one row of table `death`."""

    task: uuid.UUID
    item: uuid.UUID | None  # that it was reading; None: memory was full of what others had left
    parent: uuid.UUID | None = None  # the item around it, where the slot reported it …
    loose: uuid.UUID | None = None  # … and the loose file
    seconds: float = 0.0  # that the claim had spent on the loose file, or the item
    taken: int = 0  # items that the claim had taken out of the loose file
    cause: ExceptionCode  # killed_parser, timeout or memory
    detail: str


@dataclass(frozen=True, slots=True)
class Around:
    """An item's ancestor, or the item itself."""

    id: uuid.UUID
    size: int  # bytes


def any_of(conn: Connection, job: uuid.UUID, phase: Phase) -> bool:
    """Whether a slot died in the job, in any phase, or a task of this phase noted what a loose file took. If not, no
    item is convicted and `deaths` and `spent` are empty."""
    return bool(QUERIES["cost_anything"].run(conn, job=job, phase=phase.value).scalar_one())


def deaths(conn: Connection, job: uuid.UUID, phase: Phase) -> list[Death]:
    """The deaths in one phase, as recorded for their slots."""
    rows = QUERIES["deaths"].run(conn, job=job, phase=phase.value).mappings()
    return [Death(**{**row, "cause": ExceptionCode(row["cause"])}) for row in rows]


def spent(
    conn: Connection, job: uuid.UUID, phase: Phase, loose: Iterable[uuid.UUID], at_least: float
) -> dict[uuid.UUID, float]:
    """Seconds that finished tasks spent: on these loose files, and on any with so many or more."""
    rows = QUERIES["loose_seconds"].run(conn, job=job, phase=phase.value, loose=list(loose), at_least=at_least)
    return {row.loose: row.seconds for row in rows}


def add_spent(conn: Connection, job: uuid.UUID, phase: Phase, seconds: Mapping[uuid.UUID, float]) -> None:
    """Add to what loose files have cost."""
    if seconds:
        rows = [{"loose": loose.hex, "seconds": amount} for loose, amount in seconds.items()]
        QUERIES["add_loose_seconds"].run(conn, job=job, phase=phase.value, rows=json.dumps(rows))


def ancestors(conn: Connection, items: Iterable[uuid.UUID]) -> dict[uuid.UUID, list[Around]]:
    """Each of these items with all around it, from itself to its loose file."""
    chains: dict[uuid.UUID, list[Around]] = {}
    for row in QUERIES["ancestors"].run(conn, items=list(items)):
        chains.setdefault(row.item, []).append(Around(row.id, row.bytes))
    return chains
