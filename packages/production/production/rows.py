"""Rows of productions: their items, files and numbers, and the action recorded at their end."""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from core.job_types import FileKind, JobType
from core.records import ClaimedTask, JobOptions, JobState
from production.options import ProducedFile, ProductionChoice
from production.statements import PRODUCTION, STATEMENTS, NumberedItem, Range
from sql.bulk import ROWS_AT_ONCE, write_rows
from sql.connection import Connection
from sql.custody import CANCELLED, COMPLETED, CUSTODY
from sql.findings import OwnFindings


class ProducedFindings(OwnFindings, frozen=True, kw_only=True):
    """The files that a task wrote below the output directory, and the pages that it counted."""

    files: tuple[ProducedFile, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()  # number of an item, and how many pages were made of it

    @property
    def kinds(self) -> Iterable[FileKind]:
        """The kinds of the files."""
        return (file.kind for file in self.files)

    def write(self, conn: Connection, claimed: ClaimedTask) -> None:
        """Insert the files and set the numbers of pages, in the transaction that ends the task."""
        files = [
            {
                "number": f.number,
                "kind": f.kind.value,
                "page": f.page,
                "path": f.path,
                "bytes": f.size,
                "sha256": f.sha256.hex(),
                "md5": f.md5.hex(),
            }
            for f in self.files
        ]
        write_rows(conn, STATEMENTS["put_production_files"], files, job=claimed.job)
        pages = [{"number": number, "pages": many} for number, many in self.pages]
        write_rows(conn, STATEMENTS["put_production_pages"], pages, job=claimed.job)


def add_production_items(conn: Connection, job: uuid.UUID, items: Iterable[NumberedItem]) -> None:
    """Insert the items of a new job, in portions."""
    rows = (
        {name: value.hex if isinstance(value, uuid.UUID) else value for name, value in item._asdict().items()}
        for item in items
    )
    while some := list(islice(rows, ROWS_AT_ONCE)):
        write_rows(conn, STATEMENTS["insert_production_items"], some, job=job)


@dataclass(frozen=True, slots=True)
class Twice:
    """A clash: some of a job's numbers have been given before."""

    other: uuid.UUID  # the job that gave them
    free: int  # the first number after all that jobs of the same items have given with this prefix

    @property
    def last(self) -> int:
        """The last of the numbers given before."""
        return self.free - 1


def number_pages(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> str | None:
    """Number the pages in sequence, at the barrier after the rendering. If one of the numbers is already given the
    pages are not numbered, and the returned text describes what to do."""
    conn.execute("SAVEPOINT numbering")
    PRODUCTION.number_production_pages(conn, job=job, first=choice.first)
    twice = given_twice(conn, job, choice)
    if twice is None:
        return None
    conn.execute("ROLLBACK TO SAVEPOINT numbering")
    return (
        f"its pages would get numbers that job {twice.other} gave to other items or pages: cancel this job and "
        f"create it again with --first {twice.free}, or delete that job"
    )


def given_twice(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> Twice | None:
    """Return the clash if a number of this job belongs to another item or page in a job that takes items of the same
    discoveries. The job whose pages it takes does not count. No other transaction checks until this one ends."""
    PRODUCTION.production_alone(conn)
    ours = PRODUCTION.production_range(conn, job=job)
    found: uuid.UUID | None = None
    last = 0
    for sibling in PRODUCTION.production_siblings(conn, job=job, sources=list(choice.sources)):
        theirs = JobOptions.from_json(dict(sibling.options)).of(ProductionChoice)
        if theirs.prefix.upper() != choice.prefix.upper():  # case does not distinguish files everywhere
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
    """The numbers of a job."""

    choice: ProductionChoice
    numbers: Range

    @property
    def counted(self) -> bool:
        """Whether these are the numbers that will be written."""
        return self.choice.type is not JobType.PROCESSING or self.numbers.paged

    @property
    def drawn(self) -> bool:
        """Whether the job is a processing job whose pages are counted."""
        return self.choice.type is JobType.PROCESSING and self.numbers.paged


def _clash(conn: Connection, job: uuid.UUID, ours: _Given, other: uuid.UUID, theirs: _Given) -> bool:
    paged = ours.counted and theirs.counted
    if ours.drawn and not paged:
        return False  # at our barrier: theirs comes later, and checks ours
    one, two = ours.numbers, theirs.numbers
    if one.first is None or one.last is None or two.first is None or two.last is None:
        return False
    first = max(one.first, two.first, _least_alike(ours.choice.digits, theirs.choice.digits))
    last = min(one.last, two.last)
    if first > last:
        return False
    if theirs.drawn and not paged and last >= theirs.choice.first + theirs.choice.items:
        return True  # numbers beyond those of their items belong to pages only
    return PRODUCTION.production_clash(conn, job=job, other=other, paged=paged, first=first, last=last)


def _least_alike(digits: int, others: int) -> int:
    """Return the first number that is written the same with both minimum numbers of digits."""
    return 0 if digits == others else 10 ** (max(digits, others) - 1)


def note_ended(conn: Connection, job: uuid.UUID, choice: ProductionChoice, state: JobState) -> None:
    """Record the end of the job, in the transaction that ends it; that transaction's lock on the job's row keeps the
    job's actions in one order. Lists of other jobs are not written to: a command that locks these for minutes would
    block the queue manager."""
    action = CANCELLED if state is JobState.CANCELLED else COMPLETED
    details: dict[str, Any] = {"state": state} | PRODUCTION.production_ended(conn, job=job)._asdict()
    details |= number_range(conn, job, choice)
    CUSTODY.note_action(
        conn, job=job, who=f"queue manager@{socket.gethostname()}", action=action, details=json.dumps(details)
    )


def number_range(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> dict[str, list[str]]:
    """Return the first and the last number of the job. The items of a processing job have numbers until its pages are
    counted; those are not returned."""
    numbers = PRODUCTION.production_range(conn, job=job)
    if numbers.first is None or numbers.last is None or (choice.type is JobType.PROCESSING and not numbers.paged):
        return {}
    return {"numbers": [choice.control(numbers.first), choice.control(numbers.last)]}
