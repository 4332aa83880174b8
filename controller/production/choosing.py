"""Which items of discoveries a job is to take: what its query and its tag choose, with their families, without what it withholds."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.databases import JobHandle
from controller.search.meaning import meaning, refuse_unknown, refuse_unknown_tags, tags_in
from controller.search.opened import opened_index
from core.errors import UsageError
from core.options.production import ProductionChoice
from core.settings import Settings
from readers.records import NO_FIELDS
from search.language import TAG
from search.query import All, Asked, Node, excluded_by
from sql.faces.production import PRODUCTION, Called

if TYPE_CHECKING:
    from sqlalchemy import Connection

_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Picked:
    """What a query and a tag choose."""

    items: Sequence[uuid.UUID] | None  # None: everything
    returned: Sequence[uuid.UUID]  # of these what came with its family alone, and the query excludes by a tag

    @property
    def everything(self) -> bool:
        """Whether nothing was asked for."""
        return self.items is None


def pick(sources: Sequence[JobHandle], settings: Settings, choice: ProductionChoice) -> Picked:
    """Over all jobs. Raises UsageError, for a tag that no item has, too; RunFailed, faults."""
    nodes = [_meant(handle, choice) for handle in sources]
    if not choice.images:  # of one with pages the query has been asked before, when there may have been more tags
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
    """Those that decide what is taken. Raises UsageError for a query that cannot be read."""
    nodes = (_meant(handle, choice) for handle in sources)
    before = () if images is None else images.job.options.of(ProductionChoice).withhold
    return {*choice.withhold, *before, *tags_in(node for node in nodes if node is not None)}


def _meant(handle: JobHandle, choice: ProductionChoice) -> Node | None:
    """Query and tag are joined as they are understood, not as they are written: a bracket in one of them stays in it."""
    asked: list[Node] = [meaning(handle, choice.query)] if choice.query else []
    if choice.tag:
        asked.append(Asked(TAG, "=", choice.tag))
    return None if not asked else asked[0] if len(asked) == 1 else All(tuple(asked))


def _found(
    handle: JobHandle, settings: Settings, node: Node, *, families: bool
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    from controller.search.evaluate import Evaluation  # numbers in rows: the choice of everything needs none
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
    conn: Connection, sources: Sequence[JobHandle], choice: ProductionChoice, picked: Picked, beside: Iterable[str] = ()
) -> None:
    """In the transaction that creates the job: tables of what is chosen and what is withheld. `beside`: tags that another job
    withheld before."""
    PRODUCTION.production_tables(conn)
    ids = picked.items or []
    for at in range(0, len(ids), _AT_ONCE):
        PRODUCTION.production_pick(conn, items=ids[at : at + _AT_ONCE])
    jobs = [handle.id for handle in sources]
    for tags, said in ((list(choice.withhold), True), (list(beside), False)):
        if tags:
            PRODUCTION.production_withhold(
                conn, jobs=jobs, tags=tags, alike=choice.originals, empty=NO_FIELDS, said=said
            )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many items were chosen and are not taken, each counted under the first reason that holds."""

    withheld: int = 0
    system_files: int = 0
    copies: int = 0

    @property
    def items(self) -> int:
        """For all reasons."""
        return self.withheld + self.system_files + self.copies


def take(conn: Connection, sources: Sequence[JobHandle], choice: ProductionChoice, picked: Picked) -> LeftOut:
    """After `prepare`: what is taken, over all jobs, for copies are known by all of them."""
    withheld = PRODUCTION.production_withheld(conn, everything=picked.everything) if choice.withhold else 0
    for place, handle in enumerate(sources):
        PRODUCTION.production_take(conn, source=place, job=handle.id, everything=picked.everything)
    system = PRODUCTION.production_drop_system(conn, families=choice.families) if choice.not_nist else 0
    copies = PRODUCTION.production_drop_copies(conn, families=choice.families) if choice.originals else 0
    return LeftOut(withheld, system, copies)


def equal_to_withheld(
    conn: Connection, job: uuid.UUID, sources: Iterable[JobHandle], choice: ProductionChoice, beside: Iterable[str] = ()
) -> int:
    """How many items such a job has that equal one with a tag of those that are withheld: without `originals` a copy that has no tag is taken."""
    tags = [*choice.withhold, *beside]
    jobs = [handle.id for handle in sources]
    return PRODUCTION.production_equal(conn, job=job, jobs=jobs, tags=tags, empty=NO_FIELDS) if tags else 0


def refuse_returned(conn: Connection, picked: Picked) -> None:
    """Raises UsageError where something is taken, as of a chosen item's family, that the query excludes by a tag."""
    if picked.returned and (found := PRODUCTION.production_returned(conn, items=picked.returned)):
        raise UsageError(
            f"{called(found)}: excluded by a tag in the query, but in the family of a chosen item; withhold whole families"
            " with --withhold TAG, or produce items without families (--no-families)",
            field="query",
        )


def called(found: Sequence[Called]) -> str:
    """How many there are, and the first."""
    many, names = found[0].items, "; ".join(" / ".join(one.container_path) for one in found)
    return f"{many:,} {'item' if many == 1 else 'items'} ({names}{'; …' if many > len(found) else ''})"
