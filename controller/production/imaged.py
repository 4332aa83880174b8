"""An export with the pages of a processing job: its items, with the numbers and places that they have there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from sqlalchemy import Connection

from controller.databases import JobHandle
from controller.production.choosing import Picked, called
from core.errors import UsageError
from core.job_types import JobType
from core.options.production import ProductionChoice
from core.records import JobOptions
from production.families import Numbered, Taken
from production.layout import Place
from sql.faces.production import PRODUCTION
from sql.producing.rows import NumberedItem

_THEIRS = (
    "query",
    "tag",
    "originals",
    "not_nist",
    "families",
    "prefix",
    "digits",
    "first",
    "folder_files",
    "volume_bytes",
)
_DEFAULT = ProductionChoice(type=JobType.EXPORT, prefix="EDB")  # what an order says that says nothing


def options_with_images(images: JobHandle, options: JobOptions, sources: list[JobHandle]) -> JobOptions:
    """What an export is told that takes the pages of this job: which items and which numbers, the job has said. Raises
    UsageError."""
    choice, theirs = options.of(ProductionChoice), images.job.options.of(ProductionChoice)
    if theirs.type is not JobType.PROCESSING or not images.job.state.completed:
        what = images.job.state if theirs.type is JobType.PROCESSING else images.job.options.type
        raise UsageError(
            f"--images {images.id} is {what}; give a completed job of `edbench produce images`", field="images"
        )
    if {handle.id.hex for handle in sources} != set(theirs.sources):
        raise UsageError(f"job {images.id} made pages of items of other jobs; name those jobs", field="images")
    for name in _THEIRS:
        if getattr(choice, name) != getattr(_DEFAULT, name):
            raise UsageError(
                f"--images takes the items and numbers of job {images.id}; leave {name.replace('_', ' ')} out",
                field="images",
            )
    kept = {name: getattr(theirs, name) for name in _THEIRS}  # and not what they withhold: that has gone already
    return dataclasses.replace(options, of_type=dataclasses.replace(choice, images=images.id.hex, **kept))


def refuse_fallen(conn: Connection, images: JobHandle, picked: Picked) -> None:
    """Raises UsageError where items have pages that would not be taken now, and are not withheld: tagged since, for example."""
    found = PRODUCTION.production_fallen(conn, job=images.id, everything=picked.everything, returned=picked.returned)
    if found:
        raise UsageError(
            f"{called(found)} of job {images.id} would not be selected any more by its query, tag and --withhold;"
            " run the processing job again, or give this export --withhold TAG with a tag of these items",
            field="images",
        )


def without_original(conn: Connection, images: JobHandle) -> int:
    """How many items have no pages, as copies of what this export withholds, and would be taken in its place."""
    families = images.job.options.of(ProductionChoice).families
    found = PRODUCTION.production_without_original(conn, images=images.id, families=families)
    return found[0].items if found else 0


def imaged(conn: Connection, images: JobHandle) -> Iterator[tuple[NumberedItem, Numbered, int]]:
    """Each item that is not withheld with its number, and the characters of its text as far as they are known: not at all."""
    for row in PRODUCTION.production_imaged(conn, job=images.id):
        place = Place(row.volume, row.folder)
        taken = Taken(id=row.item, family=None, parent=None, size=row.bytes)
        numbered = Numbered(
            taken=taken, number=row.number, first=row.family_first, last=row.family_last, parent=row.parent, place=place
        )
        yield NumberedItem(**row._asdict()), numbered, 0
