"""Numbers of several productions of the same items: one number is one item's, and one page's."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection

from core.errors import UsageError
from core.job_types import JobType
from core.options.production import ProductionChoice
from sql.producing.numbers import given_twice


def refuse_given_numbers(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> None:
    """In the transaction that creates the job. Raises UsageError where one of its numbers is another item's, or page's, in a
    job that takes items of the same discovery; the same numbers of the same items are no clash. An extraction's are no
    production's, and pages that nobody has counted yet are taken for one an item: the barrier looks again."""
    if choice.type is JobType.EXTRACTION or (twice := given_twice(conn, job, choice)) is None:
        return
    told = f"job {twice.other} gave numbers up to {choice.control(twice.last)} to other items or pages"
    if choice.images:  # whose numbers are not ours to choose
        again = f"run the processing job again with --first {twice.free} or another --prefix, then export its pages"
        raise UsageError(f"{told}: {again}", field="images")
    raise UsageError(f"{told}: give --first {twice.free}, or another --prefix", field="first")
