"""What a query means for one job: read, with the searches that are kept there put in."""

from __future__ import annotations

from controller.databases import JobHandle
from core.errors import UsageError
from sql.faces.search import SEARCH
from worker.indexes.ledger_fields import CUSTODIAN_IS, SAVED
from worker.indexes.nodes import All, Asked, Either, Node
from worker.indexes.query_language import parse

_DEEPEST = 10  # searches that are kept inside each other
_MOST = 1_000  # that one query comes to, each as often as it is named


def meaning(handle: JobHandle, query: str, *, custodian: str | None = None) -> Node:
    """The query read, with searches that are kept put in, and of one custodian if given. Raises UsageError."""
    return of_custodian(_Reading(handle).put_in(parse(query), 0), custodian)


def of_custodian(node: Node, custodian: str | None) -> Node:
    """The same of this custodian's items alone; None: of all."""
    return node if custodian is None else All((node, Asked(CUSTODIAN_IS, "=", custodian)))


class _Reading:
    """One query, and how many searches that are kept were put into it: ten that each name the next twice are 2,000."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._left = _MOST
        self._kept: dict[str, str] | None = None

    def put_in(self, node: Node, depth: int) -> Node:
        """The node with what its searches mean."""
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
            raise UsageError(f"the saved searches in the query come to more than {_MOST:,}, with those that they name")
        self._left -= 1
        if self._kept is None:
            with self._handle.database.transaction() as conn:
                self._kept = {row.name: row.query for row in SEARCH.list_searches(conn, job=self._handle.id)}
        if name not in self._kept:
            known = f"; there are {', '.join(self._kept)}" if self._kept else ""
            raise UsageError(f"job {self._handle.id} has no saved search {name!r}{known}")
        return self._kept[name]
