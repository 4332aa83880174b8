"""A finished job made row by row: items as a discovery leaves them, without one."""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

from made_records import new_job

from controller.databases import JobHandle, Jobs, alone
from core.places import item_id
from readers.records import Kind
from sql import bulk, jobs
from sql.findings import Item
from sql.session import Database

CUSTODIANS = ("anna", "boris", "clara")


def digest(of: str) -> bytes:
    """A SHA-256 that stands for some bytes."""
    return hashlib.sha256(of.encode()).digest()


class Shelf:
    """Items of one job; `stored` writes them and gives the job."""

    def __init__(self, database: Database, source: bytes = b"/source", root: tuple[int, int] = (1, 1)) -> None:
        self.database = database
        self.job = uuid.uuid4()
        self.items: list[Item] = []
        self._source, self._root = source, root

    def loose(self, custodian: str, name: str, holds: str | None, **changes: Any) -> Item:
        """A loose file with these bytes; None: they could not be read."""
        path = f"{custodian}/{name}".encode()
        return self._add(None, path, name.encode(), custodian, (f"{custodian}/{name}",), holds, changes)

    def child(self, parent: Item, ordinal: int, name: str, holds: str | None, **changes: Any) -> Item:
        """Something inside an item."""
        custodian = CUSTODIANS[parent.custodian]
        given = {
            "kind": Kind.ATTACHMENT,
            "location": b"x",
            "family": parent.family,
            "depth": parent.depth + 1,
        } | changes
        number = b"#%d" % ordinal
        return self._add(parent, number, name.encode(), custodian, (*parent.container_path, name), holds, given)

    def message(
        self, parent: Item, ordinal: int, name: str, shows: str, holds: str | None = None, **changes: Any
    ) -> Item:
        """A message of a store: `says` stands for its fields, `holds` for its bytes."""
        given = {"kind": Kind.MESSAGE, "media_type": "message/rfc822", "content_hash": digest(shows), "family": None}
        return self.child(parent, ordinal, name, shows if holds is None else holds, **(given | changes))

    def _add(
        self, parent: Item | None, ordinal: bytes, name: bytes, custodian: str, path: tuple[str, ...],
        holds: str | None, changes: dict[str, Any],
    ) -> Item:  # fmt: skip
        ident = item_id(self.job, None if parent is None else parent.id, ordinal)
        given: dict[str, Any] = {
            "id": ident,
            "parent": None if parent is None else parent.id,
            "family": None,
            "custodian": CUSTODIANS.index(custodian),
            "ordinal": ordinal,
            "depth": 0,
            "name": name,
            "container_path": path,
            "kind": Kind.LOOSE_FILE,
            "container": False,
            "media_type": "text/plain",
            "size": len(holds or ""),
            "sha256": None if holds is None else digest(holds),
        } | changes
        if given["family"] is None and not given["container"]:
            given["family"] = ident
        item = Item(**given)
        self.items.append(item)
        return item

    def stored(self, order: Sequence[int] | None = None, storage: bytes = b"/storage") -> Jobs:
        """The completed job; its rows are written in this order."""
        place = {"source": self._source, "device": self._root[0], "inode": self._root[1], "storage": storage}
        new = new_job(self.job, custodians=[name.encode() for name in CUSTODIANS], name="shelf", **place)
        with self.database.transaction() as conn:
            jobs.create_job(conn, new)
            bulk.insert_items(conn, self.job, [self.items[n] for n in order or range(len(self.items))])
            finished = "UPDATE job SET state = 'completed', finished_at = now() - interval '1 hour' WHERE id = %(job)s"
            conn.execute(finished, {"job": self.job})
        return self.reference()

    def reference(self) -> Jobs:
        """The job, as a command finds it."""
        with self.database.transaction() as conn:
            return alone(JobHandle(self.database, jobs.get_job(conn, self.job)))

    def rows(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        """One statement's rows."""
        with self.database.transaction() as conn:
            return [tuple(row) for row in conn.execute(statement, {"job": self.job} | parameters)]

    def names(self, *, copies: bool) -> set[str]:
        """Container paths of the duplicates, or of the originals."""
        sql = (
            "SELECT array_to_string(container_path, ' / ') FROM duplicate d JOIN item i ON i.id = d.item"
            " WHERE d.job = %(job)s AND d.copy = %(copies)s"
        )
        return {name for (name,) in self.rows(sql, copies=copies)}
