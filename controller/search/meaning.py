"""What a query means for one job: read, with the searches that are kept there put in."""

from __future__ import annotations

from controller.databases import JobHandle
from core.errors import UsageError
from sql.faces.search import SEARCH
from worker.indexes.ledger_fields import CUSTODIAN_IS, SAVED
from worker.indexes.nodes import All, Asked, Either, Node
from worker.indexes.query_language import parse

_DEEPEST = 10  # searches that are kept inside each other


def meaning(handle: JobHandle, query: str, *, custodian: str | None = None) -> Node:
    """The query read, with searches that are kept put in, and of one custodian if given. Raises UsageError."""
    node = _with_saved(handle, parse(query), 0)
    return node if custodian is None else All((node, Asked(CUSTODIAN_IS, "=", custodian)))


def _with_saved(handle: JobHandle, node: Node, depth: int) -> Node:
    match node:
        case Asked(field, _, name) if field == SAVED:
            if depth == _DEEPEST:
                raise UsageError(f"the saved search {name!r} leads to itself, or to too many others")
            return _with_saved(handle, parse(_saved(handle, name)), depth + 1)
        case All(wanted, excluded):
            each = [tuple(_with_saved(handle, one, depth) for one in some) for some in (wanted, excluded)]
            return All(each[0], each[1])
        case Either(choices):
            return Either(tuple(_with_saved(handle, one, depth) for one in choices))
    return node


def _saved(handle: JobHandle, name: str) -> str:
    with handle.database.transaction() as conn:
        searches = {row.name: row.query for row in SEARCH.list_searches(conn, job=handle.id)}
    if name not in searches:
        known = f"; there are {', '.join(searches)}" if searches else ""
        raise UsageError(f"job {handle.id} has no saved search {name!r}{known}")
    return searches[name]
