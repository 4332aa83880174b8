"""Jobs that produce, and what they have written."""

import csv
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from controller.databases import JobHandle
from core.job_types import JobType
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from production.choosing import options_with_images
from production.create import ProductionPlan, create_production
from production.options import MARKER, ProductionChoice
from sql.jobs import get_job
from sql.session import Database


def filer() -> Storage:
    """A storage layer that is kept below no directory yet: a production keeps its own below the storage root."""
    return Storage()


def handle(database: Database, job: uuid.UUID) -> JobHandle:
    """The job as it is now."""
    with database.transaction() as conn:
        return JobHandle(database, get_job(conn, job))


def produce(
    settings: Settings, sources: Sequence[JobHandle], kind: JobType, images: JobHandle | None = None, **chosen: Any
) -> JobHandle:
    """A new job that takes items of these."""
    options = JobOptions(of_type=ProductionChoice(type=kind, **chosen))
    if images is not None:
        options = options_with_images(images, options, list(sources))
    plan = ProductionPlan(sources=list(sources), options=options, name="x", workers=1, slots=1, images=images)
    return create_production(filer(), settings, plan).each[0]


def tree(out: Path) -> dict[str, bytes]:
    """Every file but the marker, which names the job, by path."""
    found = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name != MARKER)
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Of a load file in CSV."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
