"""Numbers of several productions of the same discoveries: what is printed on a page, or is an item's, is nothing else's.

The same items may have the same numbers in several jobs. Pages that nobody has counted yet have no numbers: until then
the items' own stand for them, and the barrier behind the rendering looks again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.job_types import JobType
from core.options.production import ProductionChoice
from core.records import JobOptions
from sql.faces.production import PRODUCTION, Range

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Twice:
    """Some of a job's numbers have been given before."""

    other: uuid.UUID  # the job that did
    free: int  # behind every number that jobs of the same items have given with this prefix

    @property
    def last(self) -> int:
        """The last of these."""
        return self.free - 1


def number_pages(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> str | None:
    """The barrier behind the rendering: pages are numbered through. Where one of the numbers has been given they are not, and
    what comes back says what to do."""
    numbering = conn.begin_nested()
    PRODUCTION.number_production_pages(conn, job=job, first=choice.first)
    twice = given_twice(conn, job, choice)
    if twice is None:
        numbering.commit()
        return None
    numbering.rollback()
    return (
        f"its pages would get numbers that job {twice.other} has given to other items or pages: cancel this job and create"
        f" it again with --first {twice.free}, or delete that job"
    )


def given_twice(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> Twice | None:
    """Whether a number of this job is another item's, or page's, in a job that takes items of the same discoveries. The job
    whose pages it takes is no other. Nobody else looks until the transaction's end."""
    PRODUCTION.production_alone(conn)
    ours = PRODUCTION.production_range(conn, job=job)
    found: uuid.UUID | None = None
    last = 0
    for sibling in PRODUCTION.production_siblings(conn, job=job, sources=list(choice.sources)):
        theirs = JobOptions.from_json(dict(sibling.options)).of(ProductionChoice)
        if theirs.prefix != choice.prefix:
            continue
        numbers = PRODUCTION.production_range(conn, job=sibling.id)
        last = max(last, numbers.last or 0)
        if found is not None or sibling.id.hex == choice.images:
            continue
        if _clash(conn, job, _Given(choice, ours), sibling.id, _Given(theirs, numbers)):
            found = sibling.id
    return None if found is None else Twice(found, last + 1)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a job has given."""

    choice: ProductionChoice
    numbers: Range

    @property
    def counted(self) -> bool:
        """Whether these are the numbers that will be written."""
        return self.choice.type is not JobType.PROCESSING or self.numbers.paged

    @property
    def drawn(self) -> bool:
        """Whether it is a processing job whose pages are counted."""
        return self.choice.type is JobType.PROCESSING and self.numbers.paged


def _clash(conn: Connection, job: uuid.UUID, ours: _Given, other: uuid.UUID, theirs: _Given) -> bool:
    paged = ours.counted and theirs.counted
    if ours.drawn and not paged:
        return False  # at our barrier: theirs comes later, and looks at ours
    one, two = ours.numbers, theirs.numbers
    if one.first is None or one.last is None or two.first is None or two.last is None:
        return False
    first = max(one.first, two.first, _least_alike(ours.choice.digits, theirs.choice.digits))
    last = min(one.last, two.last)
    if first > last:
        return False
    if theirs.drawn and not paged and last >= theirs.choice.first + theirs.choice.items:
        return True  # behind the numbers that their items had before these were counted there are only pages
    return PRODUCTION.production_clash(conn, job=job, other=other, paged=paged, first=first, last=last)


def _least_alike(digits: int, others: int) -> int:
    """The first number that is written alike with so many digits at least as with so many."""
    return 0 if digits == others else 10 ** (max(digits, others) - 1)
