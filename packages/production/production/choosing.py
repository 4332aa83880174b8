"""Chooses the items of a production: by query and tags, without duplicates and system files, or those of a processing
job; and locks their jobs until the new job exists."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.databases import JobHandle
from controller.findings import ReviewKind, check_findings, latest
from controller.jobs.figures import ProductionFigures
from controller.search.meaning import meaning, refuse_unknown, refuse_unknown_tags, tags_in
from controller.search.opened import opened_index
from core.errors import UsageError
from core.job_types import JobType
from core.records import Job, JobOptions
from core.settings import Settings
from core.texts import many
from production.options import ProductionChoice
from production.statements import PRODUCTION, Called
from readers.records import NO_FIELDS
from search.language import TAG
from search.query import All, Asked, Node, excluded_by
from sql.connection import Connection
from sql.figures import FIGURES
from sql.jobs import get_job
from sql.session import Database

_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Picked:
    """The items that a query and a tag choose."""

    items: Sequence[uuid.UUID] | None  # None: everything
    returned: Sequence[uuid.UUID]  # those that came only with their family, and that the query excludes by a tag

    @property
    def everything(self) -> bool:
        """Whether there was no query and no tag."""
        return self.items is None


def pick(sources: Sequence[JobHandle], settings: Settings, choice: ProductionChoice) -> Picked:
    """Choose items of all jobs. Raises UsageError, also for a tag that no item has; RunFailed, faults."""
    nodes = [_meant(handle, choice) for handle in sources]
    if not choice.images:  # for pages the query was evaluated before, when there may have been more tags
        refuse_unknown_tags(sources, [choice.tag] if choice.tag else [], "tag")
        refuse_unknown(sources, [node for node in nodes if node is not None])
    refuse_unknown_tags(sources, choice.withhold, "withhold")
    items: list[uuid.UUID] = []
    returned: list[uuid.UUID] = []
    for handle, node in zip(sources, nodes, strict=True):
        if node is None:
            return Picked(None, [])
        own, back = _found(handle, settings, node, families=choice.families)
        items += own
        returned += back
    return Picked(items, returned)


def asked_tags(sources: Sequence[JobHandle], choice: ProductionChoice, images: JobHandle | None) -> set[str]:
    """Return the tags that decide which items are taken. Raises UsageError for a query with a syntax error."""
    nodes = (_meant(handle, choice) for handle in sources)
    before = () if images is None else images.job.options.of(ProductionChoice).withhold
    return {*choice.withhold, *before, *tags_in(node for node in nodes if node is not None)}


def _meant(handle: JobHandle, choice: ProductionChoice) -> Node | None:
    """Join query and tag as parsed, not as written: a bracket in one of them cannot affect the other."""
    asked: list[Node] = [meaning(handle, choice.query)] if choice.query else []
    if choice.tag:
        asked.append(Asked(TAG, "=", choice.tag))
    return None if not asked else asked[0] if len(asked) == 1 else All(tuple(asked))


def _found(
    handle: JobHandle, settings: Settings, node: Node, *, families: bool
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    from controller.search.evaluate import Evaluation  # imports numpy: choosing everything needs none
    from search.found import uuids

    with opened_index(handle, settings) as index:
        evaluation, items = Evaluation(index), index.items
        own = evaluation.mask(node)
        if not families:
            return uuids(items.ids[own]), []
        whole = items.with_families(own)
        back = whole & False
        for each in excluded_by(node, TAG):
            back |= evaluation.mask(each)
        return uuids(items.ids[whole]), uuids(items.ids[back & whole & ~own])


def prepare(
    conn: Connection, sources: Sequence[JobHandle], choice: ProductionChoice, picked: Picked, more: Iterable[str] = ()
) -> None:
    """Create the tables of the chosen and the withheld items, in the transaction that creates the job. `more`: tags
    that another job has withheld."""
    PRODUCTION.production_tables(conn)
    ids = picked.items or []
    for at in range(0, len(ids), _AT_ONCE):
        PRODUCTION.production_pick(conn, items=ids[at : at + _AT_ONCE])
    jobs = [handle.id for handle in sources]
    for tags, stated in ((list(choice.withhold), True), (list(more), False)):
        if tags:
            PRODUCTION.production_withhold(
                conn, jobs=jobs, tags=tags, alike=choice.originals, empty=NO_FIELDS, stated=stated
            )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Numbers of items that were chosen and are not taken, each counted under the first reason that applies."""

    withheld: int = 0
    system_files: int = 0
    copies: int = 0

    @property
    def items(self) -> int:
        """The number for all reasons."""
        return self.withheld + self.system_files + self.copies


def take(conn: Connection, sources: Sequence[JobHandle], choice: ProductionChoice, picked: Picked) -> LeftOut:
    """Take the items, after `prepare`, over all jobs: duplicates are identified across them."""
    withheld = PRODUCTION.production_withheld(conn, everything=picked.everything) if choice.withhold else 0
    for place, handle in enumerate(sources):
        PRODUCTION.production_take(conn, source=place, job=handle.id, everything=picked.everything)
    system = PRODUCTION.production_drop_system(conn, families=choice.families) if choice.not_nist else 0
    copies = PRODUCTION.production_drop_copies(conn, families=choice.families) if choice.originals else 0
    return LeftOut(withheld, system, copies)


def equal_to_withheld(
    conn: Connection, job: uuid.UUID, sources: Iterable[JobHandle], choice: ProductionChoice, more: Iterable[str] = ()
) -> int:
    """Count the items of the job that equal an item with a withheld tag: without `originals` a copy without a tag is
    taken."""
    tags = [*choice.withhold, *more]
    jobs = [handle.id for handle in sources]
    return PRODUCTION.production_equal(conn, job=job, jobs=jobs, tags=tags, empty=NO_FIELDS) if tags else 0


def refuse_returned(conn: Connection, picked: Picked) -> None:
    """Raise UsageError if an item that the query excludes by a tag is taken with the family of a chosen item."""
    if picked.returned and (found := PRODUCTION.production_returned(conn, items=picked.returned)):
        raise UsageError(
            f"{called(found)}: excluded by a tag in the query, but in the family of a chosen item; withhold whole families"
            " with --withhold TAG, or produce items without families (--no-families)",
            field="query",
        )


def called(found: Sequence[Called]) -> str:
    """Return how many items there are, and the names of the first."""
    number, names = found[0].items, "; ".join(" / ".join(one.container_path) for one in found)
    return f"{many(number, 'item')} ({names}{'; …' if number > len(found) else ''})"


def hold(conn: Connection, sources: Sequence[JobHandle], images: JobHandle | None) -> list[JobHandle]:
    """Lock and return the sources as they are now, until the end of the transaction that creates the job. All rows are
    locked in one order. Raises UsageError if a source is gone, the job that made the pages is gone, or its items were
    processed again since."""
    taken = [*sources, *([] if images is None else [images])]
    for job in sorted(handle.id for handle in taken):
        FIGURES.keep_job(conn, job=job)
    if images is not None:
        _refuse_outdated(conn, images)
    return [JobHandle(handle.database, get_job(conn, handle.id)) for handle in sources]


@dataclass(frozen=True, slots=True)
class GoesBy:
    """The tags that a job selects by: its own, those that it withholds, those of its query."""

    tags: tuple[str, ...]
    changes: int  # how often items of its sources got or lost one of them


def goes_by(sources: Sequence[JobHandle], tags: Iterable[str]) -> GoesBy:
    """Read the number of changes of these tags, before anything is chosen by them."""
    every = tuple(sorted(set(tags)))
    if not every:
        return GoesBy((), 0)
    with sources[0].database.transaction() as conn:
        return GoesBy(every, _changes(conn, sources, every))


def lock_sources(
    conn: Connection, sources: Sequence[JobHandle], by: GoesBy, images: JobHandle | None = None
) -> list[JobHandle]:
    """Lock the sources, and the job whose pages are taken, to write into their lists; return all of them. Call it at
    the end of a transaction; the order of the locks is always the same. Raises UsageError if items got or lost one of
    the tags meanwhile."""
    taken = [*sources, *([] if images is None else [images])]
    for job in sorted(handle.id for handle in taken):
        FIGURES.lock_job(conn, job=job)
    if by.tags and _changes(conn, sources, by.tags) != by.changes:
        raise UsageError(
            f"a tag that this job selects by was added or removed meanwhile ({', '.join(by.tags)}); run the "
            "command again"
        )
    return taken


def tag_changes(conn: Connection, choice: ProductionChoice) -> int:
    """Count how often, since the job was created, items of its sources got or lost a tag that it selects by; these
    changes do not affect the job. 0 if a source was deleted, with the history of its tags."""
    jobs = [uuid.UUID(source) for source in choice.sources]
    if not choice.goes_by or PRODUCTION.production_sources_there(conn, jobs=jobs) < len(jobs):
        return 0
    return PRODUCTION.production_tag_changes(conn, jobs=jobs, tags=list(choice.goes_by)) - choice.tag_changes


def _changes(conn: Connection, sources: Sequence[JobHandle], tags: Sequence[str]) -> int:
    return PRODUCTION.production_tag_changes(conn, jobs=[handle.id for handle in sources], tags=list(tags))


def _refuse_outdated(conn: Connection, images: JobHandle) -> None:
    state = get_job(conn, images.id).state
    if not state.completed:
        raise UsageError(f"--images {images.id} is now {state}; run the processing job again", field="images")
    if requeued := PRODUCTION.production_requeued(conn, job=images.id):
        raise UsageError(
            f"job {requeued[0]} was requeued after job {images.id} had chosen its items, whose pages may have changed:"
            " run the processing job again, then export its pages",
            field="images",
        )


def with_findings(
    options: JobOptions, sources: Sequence[JobHandle], databases: Sequence[Database], images: Job | None
) -> JobOptions:
    """Add to the options of a production the finding of duplicates in each source. Items of a source without a finding,
    or with one that is no longer valid, name only their own custodian. `images`: the job whose items and pages it
    takes. Raises UsageError if it omits items by a finding that is no longer valid, or by another finding than that
    job."""
    choice = options.of(ProductionChoice)
    check_findings(sources, databases, duplicates=choice.originals, system=choice.not_nist)
    findings = tuple(_finding(handle, databases) for handle in sources)
    if images is not None and choice.originals:
        theirs = dict(
            zip(images.options.of(ProductionChoice).sources, images.options.of(ProductionChoice).findings, strict=False)
        )
        for handle, finding in zip(sources, findings, strict=True):
            if theirs.get(handle.id.hex, finding) != finding:
                raise UsageError(
                    f"`edbench review dedupe` found other duplicates in job {handle.id} after job {images.id} made pages of its"
                    " originals; run the processing job again, or repeat the earlier `edbench review dedupe` (same jobs, --scope and --by)",
                    field="images",
                )
    return dataclasses.replace(options, of_type=dataclasses.replace(choice, findings=findings))


def _finding(handle: JobHandle, databases: Sequence[Database]) -> str:
    try:
        return latest([handle], ReviewKind.DEDUPE, databases).token.hex
    except UsageError:
        return ""


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
_DEFAULT = ProductionChoice(type=JobType.EXPORT, prefix="EDB")  # an order that sets no option


def options_with_images(images: JobHandle, options: JobOptions, sources: list[JobHandle]) -> JobOptions:
    """Return the options of an export that takes the pages of this job: that job determines the items and their
    numbers. Raises UsageError."""
    kind = images.job.options.type
    if kind is not JobType.PROCESSING or not images.job.state.completed:
        what = images.job.state if kind is JobType.PROCESSING else f"of type {kind}"
        raise UsageError(
            f"--images {images.id} is {what}; give a completed job of `edbench produce images`", field="images"
        )
    choice, theirs = options.of(ProductionChoice), images.job.options.of(ProductionChoice)
    if {handle.id.hex for handle in sources} != set(theirs.sources):
        raise UsageError(f"job {images.id} made pages of items of other jobs; give those jobs", field="images")
    for name in _THEIRS:
        if getattr(choice, name) != getattr(_DEFAULT, name):
            raise UsageError(
                f"--images uses the items and numbers of job {images.id}; remove {name.replace('_', ' ')}",
                field="images",
            )
    kept = {name: getattr(theirs, name) for name in _THEIRS}  # withheld items were omitted already
    return dataclasses.replace(options, of_type=dataclasses.replace(choice, images=images.id.hex, **kept))


def refuse_fallen(conn: Connection, images: JobHandle, picked: Picked) -> None:
    """Raise UsageError if items that have pages would not be taken now and are not withheld, because they were tagged
    since, for example."""
    found = PRODUCTION.production_fallen(conn, job=images.id, everything=picked.everything, returned=picked.returned)
    if found:
        raise UsageError(
            f"{called(found)} of job {images.id} would no longer be selected by its query, tag and --withhold; run "
            "the processing job again, or give this export --withhold TAG with a tag of these items",
            field="images",
        )


def production_figures(conn: Connection, handle: JobHandle) -> ProductionFigures:
    """Return the current figures."""
    choice = handle.job.options.of(ProductionChoice)
    files = PRODUCTION.production_written(conn, job=handle.id)
    return ProductionFigures.from_records(choice, tag_changes=tag_changes(conn, choice), files=files)
