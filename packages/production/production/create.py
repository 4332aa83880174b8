"""Creates an extraction, processing or export job: chooses and numbers its items and divides them into tasks, in one
transaction."""

from __future__ import annotations

import dataclasses
import os
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from controller.custody import CREATED, note
from controller.databases import JobHandle, Jobs, alone, refuse_experiment
from controller.jobs.directories import hand_over
from controller.jobs.jobs import job_directory, refuse_other_storage
from controller.labels.rules import surroundings_of
from core.errors import UsageError
from core.job_types import JobType
from core.plain import grouped
from core.records import JobOptions, NewTask, Phase
from core.settings import Settings
from core.storage.layer import Storage
from core.texts import many
from production.choosing import (
    GoesBy,
    LeftOut,
    Picked,
    asked_tags,
    equal_to_withheld,
    goes_by,
    hold,
    lock_sources,
    pick,
    prepare,
    refuse_fallen,
    refuse_returned,
    take,
)
from production.layout import Batches, Layout, Numbered, Taken, numbered, suffix_of
from production.options import WITHHELD, ProductionChoice
from production.output_directory import claim, evidence_of, give_up, missing, refuse_inside
from production.rows import add_production_items, given_twice, number_range
from production.statements import PRODUCTION, Chosen, NumberedItem
from sql import bulk
from sql import jobs as ledger_jobs
from sql.connection import Connection
from sql.review import REVIEW
from sql.session import Database

_ROWS_AT_ONCE = 10_000
_TEXTS = 20_000  # that one task writes of one shard: each task reads the shard again
_ITEM_COST = 4_096  # opening and writing a small item, in bytes of a big one


@dataclasses.dataclass(frozen=True, slots=True)
class _Fineness:
    """The granularity with which a phase's items are divided into batches."""

    a_slot: int = 3  # tasks, at least, where there are items enough
    least: int = 16  # items in one all the same


# The phases that work on batches of items. Documents that LibreOffice renders share its start; an item that is drawn may be a
# thousand pages, and with few tasks one slot would be at the last when the others have none left.
_BATCHED = {
    JobType.EXPORT: {Phase.EXPORT: _Fineness()},
    JobType.PROCESSING: {Phase.RENDER: _Fineness(), Phase.STAMP: _Fineness(a_slot=12, least=1)},
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProductionPlan:
    """The job to create."""

    sources: Sequence[JobHandle]  # discoveries that have completed, in the order of the numbers
    options: JobOptions  # with `production`, whose items are to be chosen
    name: str
    workers: int
    slots: int  # of each
    images: JobHandle | None = None  # of an export: the processing job whose pages it takes
    databases: Sequence[Database] = ()  # in addition to the sources': with jobs whose evidence is not written into


def create_production(storage: Storage, settings: Settings, plan: ProductionPlan) -> Jobs:
    """Create a running job in the database of its source jobs. Raises UsageError if these cannot be taken together,
    nothing is chosen, or the output directory is in use; StorageFault, DatabaseFault."""
    choice = plan.options.of(ProductionChoice)
    refuse_sources(plan.sources)
    for handle in plan.sources:
        refuse_other_storage(handle, settings.storage)
    databases = {each.name: each for each in (plan.sources[0].database, *plan.databases)}
    refuse_inside(Path(choice.out), settings.storage, evidence_of(databases.values()))
    by = goes_by(plan.sources, asked_tags(plan.sources, choice, plan.images))
    picked = pick(plan.sources, settings, choice)
    job, database = uuid.uuid4(), plan.sources[0].database
    refuse_experiment(database)
    storage.keep_below(os.fsencode(settings.storage), own=True)
    absent = missing(Path(choice.out))
    try:
        with database.transaction(durable=True) as conn:
            claim(storage, Path(choice.out), job, settings.storage)
            refuse_sources(hold(conn, plan.sources, plan.images))  # another command may have been faster
            _create(conn, job, settings, plan, picked, by)
            storage.mkdir(job_directory(settings.storage, job))  # last: what is refused leaves none
            hand_over(job_directory(settings.storage, job), settings.storage)
    except BaseException:
        give_up(storage, Path(choice.out), job, absent)
        raise
    with database.transaction() as conn:
        return alone(JobHandle(database, ledger_jobs.get_job(conn, job)))


def refuse_sources(sources: Sequence[JobHandle]) -> None:
    """Raise UsageError for jobs that have no items, or not all of them yet, and for jobs of several databases."""
    for handle in sources:
        if handle.job.options.type is not JobType.DISCOVERY or not handle.job.state.completed:
            what = handle.job.options.type if handle.job.state.completed else handle.job.state
            raise UsageError(f"job {handle.id} is {what}; only items of a completed discovery can be produced")
    if len({handle.id for handle in sources}) < len(sources):
        raise UsageError("a job is given twice; give it once")
    if len(places := databases_of(sources)) > 1:
        shown = ", ".join(f"{name}: {' '.join(str(handle.id) for handle in of)}" for name, of in places.items())
        raise UsageError(
            f"the items are in {len(places)} databases, but a job can use only one: create a job for each, with "
            f"its own directory and prefix or --first ({shown})"
        )


def databases_of(sources: Sequence[JobHandle]) -> dict[str, list[JobHandle]]:
    """Return the jobs by the name of their database; no job takes the items of several."""
    return grouped(sources, lambda handle: handle.database.name)


def _create(
    conn: Connection, job: uuid.UUID, settings: Settings, plan: ProductionPlan, picked: Picked, by: GoesBy
) -> None:
    first = plan.sources[0].job
    new = ledger_jobs.NewJob(
        id=job,
        name=plan.name,
        client="",
        project="",
        source=first.source,
        device=first.source_device,
        inode=first.source_inode,
        storage=os.path.abspath(os.fsencode(settings.storage)),
        options=plan.options,
        custodians=[],
        tasks=[],
        workers=plan.workers,
        slots=plan.slots,
        surroundings=surroundings_of(settings, first.source).to_json(),
    )
    ledger_jobs.create_job(conn, new)
    tally = _Tally(plan.workers * plan.slots)
    out, numbers = _chosen(conn, plan, picked)
    add_production_items(conn, job, tally.counting(numbers, plan.options))
    containers = PRODUCTION.production_containers(conn)
    if not tally.items:
        raise UsageError(_nothing(out, containers))
    choice = dataclasses.replace(
        plan.options.of(ProductionChoice),
        items=tally.items,
        sources=tuple(handle.id.hex for handle in plan.sources),
        chosen=_accounted(conn, plan, picked, tally.items + out.items + containers),
        withheld=out.withheld,
        copies=out.copies,
        system_files=out.system_files,
        containers=containers,
        goes_by=by.tags,
        tag_changes=by.changes,
        left_out=_left_out(conn, plan, picked),
        equal=equal_to_withheld(conn, job, plan.sources, plan.options.of(ProductionChoice), _withheld_before(plan)),
    )
    refuse_given_numbers(conn, job, choice)
    ledger_jobs.set_options(conn, job, dataclasses.replace(plan.options, of_type=choice))
    bulk.insert_tasks(conn, job, tally.tasks(choice.type, _holding(conn, job, choice, picked)))
    details = details_of(conn, job, choice)
    note(conn, job, CREATED, type=choice.type, name=plan.name, sources=choice.sources, **details)
    for handle in lock_sources(conn, plan.sources, by, plan.images):
        note(conn, handle.id, f"{choice.type} created", as_job=job, **details)
    refuse_other_findings(conn, choice)  # these jobs' rows are locked now


def _accounted(conn: Connection, plan: ProductionPlan, picked: Picked, items: int) -> int:
    """Return how many items were chosen: those taken, and those omitted for a reported reason. If pages are taken, the
    job that made them chose the items and omitted others."""
    if plan.images is not None:
        return items
    chosen = PRODUCTION.production_chosen(
        conn, jobs=[handle.id for handle in plan.sources], everything=picked.everything
    )
    if chosen != items:  # of a document without a record no report could explain why it is not in the production
        raise RuntimeError(f"{chosen:,} items were chosen, but {items:,} are produced or omitted with a reason")
    return chosen


def _chosen(
    conn: Connection, plan: ProductionPlan, picked: Picked
) -> tuple[LeftOut, Iterator[tuple[NumberedItem, int, int]]]:
    """Return how many chosen items are omitted, and the taken ones, each with the bytes to write of it and the
    characters of its text; these are 0, not known, if pages are taken."""
    choice = plan.options.of(ProductionChoice)
    if plan.images is None:
        prepare(conn, plan.sources, choice, picked)
        out = take(conn, plan.sources, choice, picked)
        refuse_returned(conn, picked)
        return out, _numbered(conn, plan)
    prepare(conn, plan.sources, choice, picked, _withheld_before(plan))
    refuse_fallen(conn, plan.images, picked)
    pages = ((row, row.bytes, 0) for row in PRODUCTION.production_imaged(conn, job=plan.images.id))
    return LeftOut(PRODUCTION.production_imaged_withheld(conn, job=plan.images.id)), pages


def _withheld_before(plan: ProductionPlan) -> tuple[str, ...]:
    """Return the tags that were withheld by the job whose pages are taken."""
    return () if plan.images is None else plan.images.job.options.of(ProductionChoice).withhold


def _left_out(conn: Connection, plan: ProductionPlan, picked: Picked) -> int:
    """Count the copies that have no pages and whose original is withheld since the pages were made."""
    choice = plan.options.of(ProductionChoice)
    if plan.images is None or not choice.originals or not choice.withhold:
        return 0
    take(conn, plan.sources, choice, picked)
    families = plan.images.job.options.of(ProductionChoice).families
    found = PRODUCTION.production_without_original(conn, images=plan.images.id, families=families)
    return found[0].items if found else 0


def _nothing(out: LeftOut, containers: int) -> str:
    """Explain why no item is left."""
    if containers and not out.items:
        return (
            f"only {many(containers, 'container')} chosen; choose their content, for example with a tag or with path:"
        )
    if out.withheld and out.withheld == out.items + containers:
        return f"no item is left: all {out.withheld:,} chosen items are withheld; see the tags of --withhold"
    if out.items:
        return (
            f"no item is left of {out.items + containers:,} chosen items: {out.withheld:,} are withheld, "
            f"{many(out.system_files, 'system file')}, {out.copies:,} copies of others, {many(containers, 'container')}"
        )
    return "no item is chosen: check the query with `edbench review search`, and the names of its tags"


def _holding(conn: Connection, job: uuid.UUID, choice: ProductionChoice, picked: Picked) -> list[int]:
    """Return the numbers of items whose natives would disclose items that were not chosen. Whole families have none."""
    if choice.families or choice.type is not JobType.EXPORT:
        return []
    return PRODUCTION.production_holding(conn, job=job, everything=picked.everything)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Taken(Taken):
    """A taken item with its row."""

    row: Chosen


def _numbered(conn: Connection, plan: ProductionPlan) -> Iterator[tuple[NumberedItem, int, int]]:
    """Yield every item that is taken, over all jobs."""
    choice = plan.options.of(ProductionChoice)
    layout = Layout(choice.folder_files, choice.volume_bytes)
    taken = (_taken(row, natives=choice.type is not JobType.EXTRACTION) for row in _rows(conn))
    for item in numbered(taken, choice.first, layout):
        assert isinstance(item.taken, _Taken)
        row = item.taken.row
        yield _row(plan.sources[row.source], row, item), item.taken.size, row.characters


def _row(handle: JobHandle, row: Chosen, item: Numbered) -> NumberedItem:
    return NumberedItem(
        number=item.number,
        item=row.id,
        source_job=handle.id,
        family_first=item.first,
        family_last=item.last,
        parent=item.parent,
        volume=item.place.volume,
        folder=item.place.folder,
        suffix=suffix_of(bytes(row.name), row.media_type),
        bytes=row.bytes,
        shard=row.shard,
    )


def _rows(conn: Connection) -> Iterator[Chosen]:
    source = after = 0
    while rows := PRODUCTION.production_taken(conn, source=source, after=after, limit=_ROWS_AT_ONCE):
        yield from rows
        source, after = rows[-1].source, rows[-1].place


def _taken(row: Chosen, *, natives: bool) -> _Taken:
    # Of a text's bytes its characters are known; a volume is as large as these say. An extraction writes nothing else; the
    # volumes of pages are those of the export that takes them, which writes natives.
    size = row.characters + (row.bytes if natives else 0)
    return _Taken(id=row.id, family=row.family_id, parent=row.parent, size=size, row=row)


class _Tally:
    """Counts items as they are numbered, and divides them into tasks."""

    def __init__(self, slots: int) -> None:
        self.items = 0
        self._slots = max(1, slots)
        self._texts: dict[uuid.UUID, _Part] = {}  # of each shard those that no task has yet
        self._full: list[_Part] = []
        self._batches: list[tuple[int, int, int]] = []

    def counting(self, numbers: Iterable[tuple[NumberedItem, int, int]], options: JobOptions) -> Iterator[NumberedItem]:
        """Yield the rows, counting them."""
        batches = Batches(options.batch_files, options.batch_bytes)
        for row, size, characters in numbers:
            self.items += 1
            if (batch := batches.add(row.number, row.family_first, row.family_last, size)) is not None:
                self._batches.append(batch)
            if row.shard is not None:
                self._text(row.shard, row.number, characters)
            yield row
        if (batch := batches.rest()) is not None:
            self._batches.append(batch)

    def _text(self, shard: uuid.UUID, number: int, characters: int) -> None:
        part = self._texts.get(shard)
        if part is None or part.items >= _TEXTS:
            if part is not None:
                self._full.append(part)
            part = self._texts[shard] = _Part(shard, number)
        part.last, part.items, part.weight = number, part.items + 1, part.weight + characters + _ITEM_COST

    def tasks(self, kind: JobType, holding: Sequence[int]) -> Iterator[NewTask]:
        """Yield the tasks of every phase that works on batches. `holding`: items without a native, by number."""
        if kind in (JobType.EXTRACTION, JobType.EXPORT):
            for part in (*self._full, *self._texts.values()):
                payload = {"shard": part.shard.hex, "first": part.first, "last": part.last}
                yield NewTask(phase=Phase.EXTRACT, weight=part.weight, payload=payload)
        if kind in _BATCHED:
            for phase, fineness in _BATCHED[kind].items():
                for first, last, size in self._fine(fineness):
                    weight = size + _ITEM_COST * (last - first + 1)
                    held = holding[bisect_left(holding, first) : bisect_right(holding, last)]
                    more = {WITHHELD: list(held)} if held else {}
                    yield NewTask(phase=phase, weight=weight, payload={"first": first, "last": last} | more)

    def _fine(self, fineness: _Fineness) -> Iterator[tuple[int, int, int]]:
        """Yield the batches, divided further if they are too few for the slots."""
        parts = -(-fineness.a_slot * self._slots // max(1, len(self._batches)))
        for first, last, size in self._batches:
            many = last - first + 1
            step = max(fineness.least, -(-many // parts))
            for at in range(first, last + 1, step):
                until = min(at + step - 1, last)
                yield at, until, size * (until - at + 1) // many


@dataclasses.dataclass(slots=True)
class _Part:
    """Some items of a shard."""

    shard: uuid.UUID
    first: int  # numbers
    last: int = 0
    items: int = 0
    weight: int = 0


def refuse_given_numbers(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> None:
    """Raise UsageError if one of the job's numbers belongs to another item or page in a job that takes items of the
    same discovery. The same numbers for the same items do not clash, nor do numbers of an extraction and of a
    production. Pages that are not counted yet are assumed to be one for each item: the barrier checks again. Runs in
    the transaction that creates the job."""
    if choice.type is JobType.EXTRACTION or (twice := given_twice(conn, job, choice)) is None:
        return
    clash = f"job {twice.other} gave numbers up to {choice.control(twice.last)} to other items or pages"
    if choice.images:  # whose numbers are not ours to choose
        again = f"run the processing job again with --first {twice.free} or another --prefix, then export its pages"
        raise UsageError(f"{clash}: {again}", field="images")
    raise UsageError(f"{clash}: give --first {twice.free}, or another --prefix", field="first")


_DEDUPE = "dedupe"  # the kind of that finding
_RECORDED_APART = ("type", "sources")  # recorded separately


def details_of(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> dict[str, Any]:
    """Return the job's options and numbers for the custody record, once its items are in the database; the pages of a
    processing job have no numbers yet."""
    options = {name: value for name, value in dataclasses.asdict(choice).items() if name not in _RECORDED_APART}
    return options | number_range(conn, job, choice) | {"extras": dict(choice.extras)}


def refuse_other_findings(conn: Connection, choice: ProductionChoice) -> None:
    """Raise UsageError if a source was searched for duplicates since the items were chosen. The rows of the sources
    must be locked."""
    for source, finding in zip(choice.sources, choice.findings, strict=False):
        row = REVIEW.get_review(conn, job=uuid.UUID(source), kind=_DEDUPE)
        if finding and (row is None or row.token.hex != finding):
            raise UsageError(f"job {uuid.UUID(source)} got new duplicate findings meanwhile; run the command again")
