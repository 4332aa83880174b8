"""A job without source, custodians or tasks, for benchmarks that fill its tables by themselves."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection

from core.records import JobOptions
from sql import jobs


def bare_job(conn: Connection, name: str, *, workers: int = 0, slots: int = 0) -> uuid.UUID:
    """Its id."""
    job = uuid.uuid4()
    jobs.create_job(
        conn,
        jobs.NewJob(
            id=job,
            name=name,
            client="",
            project="",
            source=b"/",
            device=0,
            inode=0,
            options=JobOptions(),
            custodians=[],
            tasks=[],
            workers=workers,
            slots=slots,
        ),
    )
    return job
