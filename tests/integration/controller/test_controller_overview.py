"""controller.jobs.overview: a list of jobs costs little however often it is asked for."""

from __future__ import annotations

import pytest
from statements import statements_of

from benchmarks.driver import bare_job
from controller.jobs.overview import JobRow, Overview
from controller.labels.jobs import KEEP_SECONDS
from sql.session import Database

pytestmark = pytest.mark.services


def test_a_look_at_running_jobs_asks_little_of_each(database: Database) -> None:
    """Promise: the page asks for the list every second. Of each job that runs a look asks for its progress; its labels are
    told once in some seconds, and at once when its state changes."""
    with database.transaction() as conn:
        for number in range(3):
            bare_job(conn, f"j{number}", workers=1, slots=4)
        conn.exec_driver_sql("UPDATE job SET phase = 'index', first_claim_at = clock_timestamp()")
    now = 1_000.0
    overview = Overview(monotonic=lambda: now)

    def look() -> tuple[list[JobRow], int]:
        with statements_of(database) as asked:
            rows, _ = overview.rows([database], state=None, limit=50, offset=0)
        return rows, len(asked)

    first, whole = look()
    now += KEEP_SECONDS / 2
    again, kept = look()
    assert [row.labels for row in again] == [row.labels for row in first]
    assert whole - kept >= 3 * 8  # of read_labels
    assert kept <= 1 + 3 * 7  # the list, and each job's progress and stops
    with database.transaction() as conn:
        conn.exec_driver_sql("UPDATE job SET state = 'pausing' WHERE name = 'j0'")
    _, changed = look()
    assert kept < changed < whole
    now += KEEP_SECONDS
    assert look()[1] == whole
