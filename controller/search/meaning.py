"""The meaning of a query for one job: parsed, with the job's saved searches expanded."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

from controller.browse.item_filter import ItemFilter
from controller.databases import JobHandle
from core.errors import UsageError
from core.names import LOAD_KEY
from readers.modules import MEDIA_TYPES
from search.language import CUSTODIAN_IS, SAVED, TAG, TYPE_IS, parse
from search.query import All, Asked, Either, Node, asked_in, values_of
from sql.browse import SEARCH
from sql.jobs import JOBS
from sql.review import REVIEW

_DEEPEST = 10  # saved searches nested in each other
_MOST = 1_000  # saved searches in one query, each counted as often as it is named


def meaning(handle: JobHandle, query: str, *, custodian: str | None = None) -> Node:
    """Parse the query, with saved searches expanded, for one custodian if given. Raises UsageError."""
    return of_custodian(_Reading(handle).put_in(parse(query), 0), custodian)


def of_custodian(node: Node, custodian: str | None) -> Node:
    """Restrict the query to this custodian's items; None: no restriction."""
    return node if custodian is None else All((node, Asked(CUSTODIAN_IS, "=", custodian)))


class _Reading:
    """Expansion of one query, with the number of saved searches so far: ten searches that each name the next twice are
    2,000."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._left = _MOST
        self._kept: dict[str, str] | None = None

    def put_in(self, node: Node, depth: int) -> Node:
        """Return the node with its saved searches expanded."""
        match node:
            case Asked(field, _, name) if field == SAVED:
                return self.put_in(parse(self._saved(name, depth)), depth + 1)
            case All(wanted, excluded):
                each = [tuple(self.put_in(one, depth) for one in some) for some in (wanted, excluded)]
                return All(each[0], each[1])
            case Either(choices):
                return Either(tuple(self.put_in(one, depth) for one in choices))
        return node

    def _saved(self, name: str, depth: int) -> str:
        if depth == _DEEPEST:
            raise UsageError(f"the saved search {name!r} refers to itself, or to too many others")
        if not self._left:
            raise UsageError(f"the query uses more than {_MOST:,} saved searches, including those that they refer to")
        self._left -= 1
        if self._kept is None:
            self._kept = {
                row.name: row.query for row in self._handle.database.ask(SEARCH.list_searches, job=self._handle.id)
            }
        if name not in self._kept:
            known = f"; there are {', '.join(self._kept)}" if self._kept else ""
            raise UsageError(f"job {self._handle.id} has no saved search {name!r}{known}")
        return self._kept[name]


_SHOWN = 20  # names listed if one is unknown
_LANGUAGE, _LANGUAGES = "language", "languages"  # the key, and the finding that has it (review.kinds, above this layer)


def tags_in(nodes: Iterable[Node]) -> set[str]:
    """Return the tags that queries ask for."""
    return _values(nodes, TAG)


def refuse_unknown_tags(handles: Sequence[JobHandle], wanted: Iterable[str], field: str) -> None:
    """Raise UsageError if no item of the jobs has one of these tags."""
    missing = sorted(set(wanted))
    for handle in handles if missing else ():
        given = handle.database.ask(SEARCH.tags_given, job=handle.id, tags=missing)
        missing = [tag for tag in missing if tag not in given]
    if missing:
        known = {row.tag for handle in handles for row in handle.database.ask(SEARCH.list_tags, job=handle.id)}
        there = f"the tags are {_some(known)}" if known else "none is tagged"
        raise UsageError(f"no item has the tag {missing[0]!r}; {there}", field=field)


def refuse_unknown(handles: Sequence[JobHandle], nodes: Sequence[Node]) -> None:
    """Raise UsageError if queries ask for a tag, a custodian or a field of load files that none of the jobs has, for a
    media type that no item has, or for languages that were not detected."""
    refuse_unknown_tags(handles, tags_in(nodes), "query")
    if custodians := _values(nodes, CUSTODIAN_IS):
        for custodian in sorted(custodians.difference(custodians_of(handles)))[:1]:
            refuse_unknown_custodian(handles, custodian, "query")
    _refuse_types(handles, _values(nodes, TYPE_IS), "query")
    keys = {asked.field for node in nodes for asked in asked_in(node)}
    _refuse_keys(handles, keys, "query")
    _refuse_unlooked(handles, keys, "query")


def refuse_unknown_filter(handles: Sequence[JobHandle], wanted: ItemFilter) -> None:
    """Raise UsageError for an unknown name in a filter of items, as `refuse_unknown`; its field is custodian or
    type, and none for languages."""
    refuse_unknown_custodian(handles, wanted.custodian)
    _refuse_types(handles, () if wanted.type is None else (wanted.type,), "type")
    _refuse_unlooked(handles, [condition.key for condition in wanted.conditions])


def _refuse_types(handles: Sequence[JobHandle], wanted: Iterable[str], field: str) -> None:
    types = {media_type for each in MEDIA_TYPES.values() for media_type in each}
    for media_type in sorted(set(wanted) - types):
        if not any(_has(handle, media_type=media_type) for handle in handles):
            close = difflib.get_close_matches(media_type, types, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"no item has the media type {media_type[:120]!r}{meant}", field=field)


def _refuse_keys(handles: Sequence[JobHandle], asked: Iterable[str], field: str) -> None:
    for key in sorted(filter(LOAD_KEY.match, asked)):
        if not any(_has(handle, key=key) for handle in handles):
            raise UsageError(f"no item has the field {key!r} of a load file", field=field)


def _refuse_unlooked(handles: Sequence[JobHandle], asked: Collection[str], field: str = "") -> None:
    """Raise UsageError if languages were not detected in one of the jobs, or its items were processed again since."""
    for handle in handles if _LANGUAGE in asked else ():
        found = handle.database.ask(REVIEW.get_review, job=handle.id, kind=_LANGUAGES)
        again = f"`edbench review languages {handle.id}`"
        if found is None:
            raise UsageError(f"languages were not detected in job {handle.id} yet; run {again}", field=field)
        if found.stale:
            raise UsageError(f"job {handle.id} was processed again since its languages were detected; run {again} again", field=field)  # fmt: skip


def custodians_of(handles: Sequence[JobHandle]) -> list[str]:
    """Return the names of the custodians of all jobs, as a search accepts them."""
    names: set[str] = set()
    for handle in handles:
        names.update(handle.database.ask(JOBS.job_custodians, job=handle.id).values())
    return sorted(names)


def refuse_unknown_custodian(handles: Sequence[JobHandle], custodian: str | None, field: str = "custodian") -> None:
    """Raise UsageError if no job has this custodian."""
    if custodian is None or custodian in (known := custodians_of(handles)):
        return
    raise UsageError(f"there is no custodian {custodian[:120]!r}; the custodians are {_some(known)}", field=field)


def _values(nodes: Iterable[Node], field: str) -> set[str]:
    return {value for node in nodes for value in values_of(node, field)}


def _some(names: Iterable[str]) -> str:
    known = sorted(names)
    return ", ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else "")


def _has(handle: JobHandle, *, media_type: str | None = None, key: str | None = None) -> bool:
    return handle.database.ask(SEARCH.has_items, job=handle.id, media_type=media_type, key=key)
